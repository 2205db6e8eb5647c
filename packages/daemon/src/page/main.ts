// Driver: starts the page, signs the user in, shows the view that the URL names, and says when the member
// does not answer.

import { Api, Refusal } from './member-requests.js'
import { Changes } from './changes-view.js'
import type { Console, Status, View } from './shared-view-types.js'
import { may, type Person, type Right } from './signed-in-user-types.js'
import { button, el, field, setText } from './html-elements.js'
import { KeyList } from './keys-view.js'
import { LockHistory } from './lock-history-collector.js'
import { LockList } from './locks-view.js'
import { OneKey } from './one-key-view.js'
import { OneLock } from './one-lock-view.js'
import { Overview, pageOf } from './cluster-view.js'
import { whyOf } from './confirm-dialog.js'
import { Sessions } from './sessions-view.js'
import { decodedKey, encodedBytes } from './key-and-number-formatting.js'
import { after } from './browser-clock.js'

interface Place {
  readonly name: string
  readonly right: Right
  all(console: Console): View
  one?(console: Console, name: string): View
}

const PLACES: Readonly<Record<string, Place>> = {
  overview: { name: 'Overview', right: 'read', all: (console) => new Overview(console) },
  locks: {
    name: 'Locks',
    right: 'read',
    all: (console) => new LockList(console),
    one: (console, name) => new OneLock(console, name),
  },
  keys: {
    name: 'Keys',
    right: 'read',
    all: (console) => new KeyList(console),
    one: (console, name) => new OneKey(console, name),
  },
  changes: { name: 'Changes', right: 'read', all: (console) => new Changes(console) },
  sessions: { name: 'Sessions', right: 'admin', all: (console) => new Sessions(console) },
}

const api = new Api()
const main = el('main', { id: 'main', tabindex: '-1' })
const news = el('p', { class: 'news', role: 'status' })
const gone = el('div', { class: 'gone', role: 'alert', hidden: true })
const nav = el('nav', { 'aria-label': 'Views' })
const person = el('div', { class: 'person' })

let view: View | undefined
let signedIn: Console | undefined
let others: readonly string[] = []
let forget = () => {}

function say(text: string): void {
  setText(news, text)
  forget()
  forget = after(6_000, () => setText(news, ''))
}

async function signIn(problem?: string): Promise<void> {
  try {
    const who = await api.get<Person>('/v1/identity')
    enter(who)
  } catch (error) {
    if (error instanceof Refusal && error.status === 401)
      return askToken(api.hasToken ? error.message : problem)
    show('Not yet', el('p', { class: 'refused', role: 'alert' }, whyOf(error)))
    after(1_000, () => void signIn())
  }
}

function askToken(problem: string | undefined): void {
  api.useToken('')
  const token = field('Token', { type: 'password', name: 'token', required: true })
  const form = el(
    'form',
    { class: 'sign-in' },
    el(
      'p',
      {},
      'This member requires a token. Your token stays in this tab until you close the tab, and the page sends it only to this member.',
    ),
    problem !== undefined && el('p', { class: 'refused', role: 'alert' }, problem),
    token.root,
    el('button', { type: 'submit', class: 'main' }, 'Sign in'),
  )
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    api.useToken(token.input.value.trim())
    void signIn()
  })
  show('Sign in', form)
  token.input.focus()
}

function enter(who: Person): void {
  // If the member has refused a token, a person signs in a second time without a reload of the page. Here the
  // streams of the first sign-in are closed. Otherwise these streams would stay open.
  signedIn?.history.close()
  signedIn = { api, person: who, history: new LockHistory(api, who), say }
  const out = button('Sign out', () => {
    api.useToken('')
    location.reload()
  })
  person.replaceChildren(
    el('span', {}, `${who.name} (${who.rights.join(', ')})`),
    ...(api.hasToken ? [out] : []),
  )
  const links = Object.entries(PLACES).filter(([, { right }]) => may(who, right))
  nav.replaceChildren(...links.map(([path, { name }]) => el('a', { href: `#/${path}` }, name)))
  api.onReach = tellReach
  void learnOthers()
  go(false)
}

/**
 * Reads the addresses of the other members. If this member stops answering, the page shows these addresses to
 * the user.
 */
async function learnOthers(): Promise<void> {
  if (signedIn === undefined || !may(signedIn.person, 'read')) return
  const { id, members, leader } = await api.get<Status>('/status').catch(() => NOTHING)
  setText(title, id === '' ? 'Latchkey' : `Latchkey · ${id}`)
  others = members.filter((member) => member.id !== id).map(({ url }) => pageOf(url))
  if (leader === undefined) after(2_000, () => void learnOthers())
}

const NOTHING = { id: '', members: [], leader: undefined }

function tellReach(answers: boolean): void {
  gone.hidden = answers
  if (answers) return say('The member answers again.')
  gone.replaceChildren(
    el('strong', {}, 'This member does not answer. '),
    'The page tries again until it does. The page shows old data until then. ',
    ...others.map((url) => el('a', { href: `${url}${location.hash}` }, `Continue at ${url}`)),
  )
}

function go(isFocused: boolean): void {
  if (signedIn === undefined) return
  const [, path = '', name = ''] = location.hash.split('/')
  const known = Object.hasOwn(PLACES, path) ? path : 'overview'
  const place = PLACES[known] as Place
  view?.stop()
  view = undefined
  for (const link of nav.querySelectorAll('a')) {
    if (link.getAttribute('href') === `#/${known}`) link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  }
  if (!may(signedIn.person, place.right)) {
    show(
      place.name,
      el(
        'p',
        { class: 'refused', role: 'alert' },
        `Your token does not have the right ${place.right}, which this view needs.`,
      ),
    )
  } else {
    view =
      name !== '' && place.one !== undefined
        ? place.one(signedIn, encodedBytes(decodedKey(name)))
        : place.all(signedIn)
    show(view.title, view.root)
    view.start()
  }
  if (isFocused) main.focus()
}

function show(heading: string, root: HTMLElement): void {
  document.title = `${heading} · Latchkey`
  main.replaceChildren(el('h1', {}, heading), root)
}

const title = el('span', {}, 'Latchkey')
document.body.append(
  el('a', { class: 'skip', href: '#main' }, 'To the content'),
  el(
    'header',
    {},
    el(
      'div',
      { class: 'brand' },
      el('img', { src: '/page/icon.svg', alt: '', width: '24', height: '24' }),
      title,
    ),
    nav,
    person,
  ),
  gone,
  main,
  news,
)
document.querySelector('.skip')?.addEventListener('click', (event) => {
  event.preventDefault()
  main.focus()
})
window.addEventListener('hashchange', () => go(true))
void signIn()
