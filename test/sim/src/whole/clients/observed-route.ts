// Rule: observes the requests and answers of an embedded store. The store reaches the leader through its own
// member or another member.

import type { Dial, Route } from '@latchkey/client'
import { decodeAnswer, errorOf, type LinkReply } from '@latchkey/protocol'

export interface RouteObserver {
  asked(): void
  /** A member has answered a request that only a leader can answer. */
  served(): void
}

type EmbeddedRoute = Extract<Route, { dial: Dial }>

export function observedRoute(route: Route, ear: RouteObserver): Route {
  const { dial, others } = route as EmbeddedRoute
  const observed = observedDial(dial, ear)
  if (others === undefined) return { dial: observed }
  return {
    dial: observed,
    others: { ids: () => others.ids(), dialTo: (id) => observedDial(others.dialTo(id), ear) },
  }
}

function observedDial(dial: Dial, ear: RouteObserver): Dial {
  return async (events, signal) => {
    const reply = (told: LinkReply) => {
      if (told.kind === 'answer' && isServed(told)) ear.served()
      events.reply(told)
    }
    const { closed, stranded, cutOff } = bound(events)
    const link = await dial({ reply, closed, memberRemoved: stranded, cutOff }, signal)
    return {
      send: (request) => {
        if (request.kind === 'command') ear.asked()
        link.send(request)
      },
      close: () => link.close(),
      ...(link.received === undefined ? {} : { received: () => link.received?.() ?? 0 }),
      probe: () => link.probe?.(),
    }
  }
}

const bound = (events: Parameters<Dial>[0]) => ({
  closed: (reason: Error) => events.closed(reason),
  stranded: (reason: Parameters<typeof events.memberRemoved>[0]) => events.memberRemoved(reason),
  cutOff: (isCutOff: boolean) => events.cutOff?.(isCutOff),
})

/** With these errors a member has lost a command or knows no leader. The client was not served. */
const NOT_SERVED: ReadonlySet<string> = new Set(['ERR_OUTCOME_UNKNOWN', 'ERR_NO_LEADER', 'ERR_BUSY'])

function isServed({ never, answer }: Extract<LinkReply, { kind: 'answer' }>): boolean {
  const decoded = answer instanceof Uint8Array ? decodeAnswer(answer) : answer
  return !never && (decoded[0] === 0 || !NOT_SERVED.has(errorOf(decoded).code))
}
