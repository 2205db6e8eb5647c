// Driver: asks a person to confirm something that cannot be undone, and then reports the result.

import { Refusal } from './api.js'
import type { Console } from './console.js'
import { button, el } from './dom.js'

export interface Question {
  readonly title: string
  /** What will happen, in whole sentences. */
  readonly text: string
  /** The text of the button. */
  readonly action: string
  /** Does what was confirmed, and resolves to a sentence about the result. */
  run(): Promise<string>
}

/** Shows the dialog. The focus begins at the button that does nothing, and Escape closes the dialog. */
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
