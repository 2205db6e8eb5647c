// Driver: asks the user to confirm an action that cannot be undone, runs the action, and shows the result.

import { Refusal } from './member-requests.js'
import type { Console } from './shared-view-types.js'
import { button, el } from './html-elements.js'

interface Question {
  readonly title: string
  readonly text: string
  readonly action: string
  run(): Promise<string>
}

/** The cancel button has the focus at first, so that Enter does no harm. */
export function ask(console: Pick<Console, 'say'>, question: Question): void {
  const { title, text, action } = question
  const failed = el('p', { class: 'refused', role: 'alert', hidden: true })
  const cancel = button('Cancel', () => dialog.close())
  const go = button(action, () => void act(), 'danger')
  const dialog = el(
    'dialog',
    { 'aria-labelledby': 'question-title', 'aria-describedby': 'question-text' },
    el('h2', { id: 'question-title' }, title),
    el('p', { id: 'question-text' }, text),
    failed,
    el('div', { class: 'buttons' }, cancel, go),
  )
  const act = async () => {
    go.disabled = true
    try {
      const said = await question.run()
      dialog.close()
      console.say(said)
    } catch (error) {
      failed.textContent = whyOf(error)
      failed.hidden = false
      go.disabled = false
    }
  }
  dialog.addEventListener('close', () => dialog.remove())
  document.body.append(dialog)
  dialog.showModal()
  cancel.focus()
}

export const whyOf = (error: unknown): string =>
  error instanceof Refusal || error instanceof Error ? error.message : String(error)
