// Driver: owns a headless browser and the pages in it, and notes what a page must never do.

import { type Browser, chromium, type Page } from 'playwright-core'

export interface Look {
  readonly token?: string
  readonly scheme?: 'light' | 'dark'
  readonly width?: number
  readonly height?: number
}

export class Person {
  readonly page: Page
  /** Errors of scripts, refusals of the policy, dialogs, and requests to anywhere else. */
  readonly faults: string[] = []
  /** The bytes of all answers, as they were sent. */
  bytes = 0

  constructor(page: Page, url: string) {
    this.page = page
    page.on('pageerror', (error) => this.faults.push(`error: ${error.message}`))
    page.on('dialog', (dialog) => {
      this.faults.push(`dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
    page.on('console', (message) => {
      if (message.text().includes('Content Security Policy')) this.faults.push(message.text())
    })
    page.on('request', (request) => {
      if (!request.url().startsWith(url)) this.faults.push(`request: ${request.url()}`)
    })
    page.on('response', (response) => {
      // A stream has no length.
      this.bytes += Number(response.headers()['content-length'] ?? 0)
    })
  }

  async go(view: string): Promise<void> {
    await this.page.evaluate(`location.hash = ${JSON.stringify(`#/${view}`)}`)
  }

  async signIn(token: string): Promise<void> {
    await this.page.getByLabel('Token').fill(token)
    await this.page.getByRole('button', { name: 'Sign in' }).click()
    await this.page.getByRole('button', { name: 'Sign out' }).waitFor()
  }
}

export class Browsers {
  readonly #browser: Browser

  private constructor(browser: Browser) {
    this.#browser = browser
  }

  /** LATCHKEY_BROWSER is set by scripts/browser.sh. */
  static async start(): Promise<Browsers> {
    const executablePath = process.env['LATCHKEY_BROWSER']
    if (executablePath === undefined)
      throw new Error('These tests need a browser: run them with npm run test:browser.')
    // The sandbox of Chromium needs a user that is not root; the pages are this project's own.
    const args = process.getuid?.() === 0 ? ['--no-sandbox'] : []
    return new Browsers(await chromium.launch({ executablePath, args }))
  }

  /** A person with a browser of its own: nothing is shared with another one. */
  async open(
    memberUrl: string,
    { token, scheme = 'light', width = 1200, height = 900 }: Look = {},
  ): Promise<Person> {
    const context = await this.#browser.newContext({ colorScheme: scheme, viewport: { width, height } })
    context.setDefaultTimeout(20_000)
    const url = memberUrl.replace(/^ws/, 'http')
    const person = new Person(await context.newPage(), url)
    await person.page.goto(url)
    if (token !== undefined) await person.signIn(token)
    return person
  }

  close(): Promise<void> {
    return this.#browser.close()
  }
}
