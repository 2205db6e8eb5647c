// Driver: runs the pods of a StatefulSet as processes on loopback, as Kubernetes would: the very command and
// variables of the container, each start with another address under the same name, SIGTERM and then SIGKILL.

import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { elementAt } from '@latchkey/base'
import { ask } from '@latchkey/test-chaos/ask'
import { LATCHKEY } from '@latchkey/test-chaos/command'
import { freePorts } from '@latchkey/test-chaos/ports'
import { pause, until } from '@latchkey/test-chaos/until'

interface Variable {
  readonly name: string
  readonly value?: string
  readonly valueFrom?: { readonly fieldRef?: { readonly fieldPath: string } }
}
interface Container {
  readonly args: readonly string[]
  readonly env: readonly Variable[]
  readonly ports: readonly { readonly containerPort: number }[]
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[]
  readonly resources: Readonly<Record<'limits' | 'requests', { readonly memory: string }>>
}
export interface StatefulSet {
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly replicas: number
    readonly serviceName: string
    readonly template: {
      readonly spec: {
        readonly terminationGracePeriodSeconds: number
        readonly containers: readonly Container[]
      }
    }
  }
}

export interface PodsOptions {
  readonly folder: string
  /** What the secrets hold: by volume, then by file. */
  readonly secrets: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly ca: string
}

const NAMESPACE = 'default'
const PRELOAD = new URL('../../dist/kubernetes/fake-dns.js', import.meta.url)
const DOCKERFILE = fileURLToPath(new URL('../../../../deploy/Dockerfile', import.meta.url))

export class Pods {
  readonly hosts: string
  readonly #options: PodsOptions
  readonly #port: number
  readonly #image = readImage()
  readonly #net = `127.${randomInt(64, 120)}.${randomInt(1, 250)}`
  readonly #running = new Map<number, { child: ChildProcess; output: string }>()
  readonly #addresses = new Map<string, string>()
  #set: StatefulSet
  #started = 0
  #replicas = 0

  private constructor(set: StatefulSet, port: number, options: PodsOptions) {
    this.#set = set
    this.#port = port
    this.#options = options
    this.hosts = join(options.folder, 'hosts.json')
    this.#tellNames()
    for (const [volume, files] of Object.entries(options.secrets)) {
      mkdirSync(join(options.folder, volume))
      for (const [name, text] of Object.entries(files)) {
        writeFileSync(join(options.folder, volume, name), text)
        chmodSync(join(options.folder, volume, name), 0o440)
      }
    }
  }

  static async install(set: StatefulSet, options: PodsOptions): Promise<Pods> {
    return new Pods(set, elementAt(await freePorts(1), 0), options)
  }

  id(nth: number): string {
    return `${this.#set.metadata.name}-${nth}`
  }

  url(nth: number): string {
    return `wss://${this.#name(nth)}:${this.#port}`
  }

  get urls(): string[] {
    return Array.from({ length: this.#replicas }, (_, nth) => this.url(nth))
  }

  /** Those that are missing start at once (podManagementPolicy: Parallel); the last ones stop first. */
  async scale(replicas: number): Promise<void> {
    for (let nth = this.#replicas; nth < replicas; nth++) this.start(nth)
    for (let nth = this.#replicas - 1; nth >= replicas; nth--) await this.stop(nth)
    this.#replicas = replicas
  }

  /** Another template: each pod is replaced when the one before is ready again, from the last to the first. */
  async update(set: StatefulSet): Promise<void> {
    this.#set = set
    for (let nth = this.#replicas - 1; nth >= 0; nth--) {
      await this.stop(nth)
      this.start(nth)
      await this.ready(nth)
    }
  }

  start(nth: number): void {
    const container = this.#container
    const address = `${this.#net}.${++this.#started}`
    mkdirSync(this.#volume(nth, 'data'), { recursive: true })
    this.#addresses.set(this.#name(nth), address)
    this.#tellNames()
    const child = spawn(process.execPath, [LATCHKEY, ...container.args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'], ...this.#image, ...this.#variables(nth, address) },
    })
    const pod = { child, output: '' }
    const keep = (chunk: Buffer) => {
      pod.output = (pod.output + chunk.toString()).slice(-8_000)
    }
    child.stdout.on('data', keep)
    child.stderr.on('data', keep)
    this.#running.set(nth, pod)
  }

  async stop(nth: number): Promise<void> {
    const { terminationGracePeriodSeconds } = this.#set.spec.template.spec
    const { child, output } = this.#pod(nth)
    const late = setTimeout(() => child.kill('SIGKILL'), terminationGracePeriodSeconds * 1_000)
    child.kill('SIGTERM')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    clearTimeout(late)
    this.#gone(nth)
    if (child.exitCode !== 0) throw new Error(`${this.id(nth)} ended with ${child.exitCode}: ${output}`)
  }

  /** Its node is lost, and what was on it where the disk was the node's own. */
  async lose(nth: number, { disk = false } = {}): Promise<void> {
    const { child } = this.#pod(nth)
    child.kill('SIGKILL')
    if (child.signalCode === null && child.exitCode === null) await once(child, 'exit')
    this.#gone(nth)
    if (disk) rmSync(this.#volume(nth, 'data'), { recursive: true })
  }

  async ready(nth: number): Promise<void> {
    const url = `${this.url(nth).replace('wss:', 'https:')}/readyz`
    try {
      await until(`${this.id(nth)} is ready`, async () => {
        const answer = await ask(url, { ca: this.#options.ca })
        return answer?.status === 200 ? true : undefined
      })
    } catch (error) {
      throw new Error(`${(error as Error).message}\n${this.#pod(nth).output}`, { cause: error })
    }
  }

  async destroy(): Promise<void> {
    for (const nth of [...this.#running.keys()]) await this.lose(nth)
    await pause(0)
  }

  get #container(): Container {
    return elementAt(this.#set.spec.template.spec.containers, 0)
  }

  #pod(nth: number) {
    const pod = this.#running.get(nth)
    if (pod === undefined) throw new Error(`${this.id(nth)} does not run`)
    return pod
  }

  #gone(nth: number): void {
    this.#running.delete(nth)
    this.#addresses.delete(this.#name(nth))
    this.#tellNames()
  }

  #name(nth: number): string {
    return `${this.id(nth)}.${this.#set.spec.serviceName}.${NAMESPACE}.svc`
  }

  /** In one step, because processes read the file at any moment. */
  #tellNames(): void {
    writeFileSync(`${this.hosts}.new`, JSON.stringify(Object.fromEntries(this.#addresses)))
    renameSync(`${this.hosts}.new`, this.hosts)
  }

  /** A volume of claims is the pod's own, and stays; a secret is everybody's. */
  #volume(nth: number, volume: string): string {
    const { folder, secrets } = this.#options
    return join(folder, secrets[volume] === undefined ? `${this.id(nth)}-${volume}` : volume)
  }

  #variables(nth: number, address: string): Record<string, string> {
    const { env, ports, volumeMounts } = this.#container
    const [own, free] = [String(elementAt(ports, 0).containerPort), String(this.#port)]
    const fields: Record<string, string> = { 'metadata.name': this.id(nth), 'metadata.namespace': NAMESPACE }
    const known: Record<string, string> = {}
    for (const { name, value, valueFrom } of env) {
      let text = value ?? fields[valueFrom?.fieldRef?.fieldPath ?? ''] ?? ''
      // As Kubernetes puts in what was named before.
      text = text.replaceAll(/\$\((\w+)\)/g, (whole, other: string) => known[other] ?? whole)
      // On this one machine: a free port, the pod's address for all of its own, folders for volumes.
      text = text.replaceAll(`:${own}`, `:${free}`).replace('0.0.0.0', address)
      for (const { name: volume, mountPath } of volumeMounts)
        if (text.startsWith(`${mountPath}/`)) text = this.#volume(nth, volume) + text.slice(mountPath.length)
      known[name] = text
    }
    const options = `${this.#image['NODE_OPTIONS'] ?? ''} --import ${PRELOAD.href}`.trim()
    return { ...known, NODE_OPTIONS: options, FAKE_DNS_FILE: this.hosts }
  }
}

/** The variables that the image sets; its entry point has to be the command. */
function readImage(): Record<string, string> {
  const text = readFileSync(DOCKERFILE, 'utf8')
  if (!/^ENTRYPOINT \["node", "\S+\/bin\/latchkey\.js"\]$/m.test(text))
    throw new Error('the image does not start the command')
  const last = [...text.matchAll(/^ENV (.+)$/gm)].at(-1)?.[1] ?? ''
  return Object.fromEntries(
    last
      .split(' ')
      .map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)] as const),
  )
}
