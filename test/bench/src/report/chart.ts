// Rule: locks a second and their p99 over callers, one line a system, as an SVG that reads well on light and
// on dark.

import type { LoadRow } from './report.js'

const WIDTH = 860
const HEIGHT = 420
const PANEL = { width: 360, height: 270, top: 70 }
const LEFTS = [60, 480]
/** Told apart by people who see few colours, too (after Okabe and Ito), and by their marks. */
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#8c6bb1']

interface Scale {
  readonly low: number
  readonly high: number
}

export function chart(rows: readonly LoadRow[]): string | undefined {
  const pairs = rows.filter((row) => row.load === 'lock pair' && row.samples > 0)
  const systems = [...new Set(pairs.map((row) => row.system))]
  const callers = [...new Set(pairs.map((row) => row.callers))].sort((a, b) => a - b)
  if (callers.length < 2) return undefined
  const panels = [
    panel(
      'locks taken and released, a second',
      pairs,
      systems,
      callers,
      LEFTS[0] as number,
      (row) => row.perSecond,
    ),
    panel('p99, milliseconds', pairs, systems, callers, LEFTS[1] as number, (row) => row.p99),
  ]
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="Locks a second and their p99 over callers">`,
    STYLE,
    `<rect class="ground" width="${WIDTH}" height="${HEIGHT}"/>`,
    `<text class="title" x="60" y="28">A lock taken and released, each caller its own key; both axes are logarithmic</text>`,
    ...panels,
    ...legend(systems),
    '</svg>\n',
  ].join('\n')
}

const STYLE = `<style>
text{font:12px system-ui,sans-serif;fill:#24292f}.title{font-weight:600;font-size:14px}.faint{fill:#57606a}
.ground{fill:#fff}.grid{stroke:#d0d7de;stroke-width:1}.line{fill:none;stroke-width:2}.ours{stroke-width:4}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.faint{fill:#9198a1}.ground{fill:#0d1117}.grid{stroke:#30363d}}
</style>`

function panel(
  title: string,
  pairs: readonly LoadRow[],
  systems: readonly string[],
  callers: readonly number[],
  left: number,
  value: (row: LoadRow) => number,
): string {
  const scale = powersAround(pairs.map(value))
  const x = (count: number) =>
    round(left + share(count, { low: callers[0] as number, high: callers.at(-1) as number }) * PANEL.width)
  const y = (number: number) => round(PANEL.top + (1 - share(number, scale)) * PANEL.height)
  const lines = systems.map((system, i) => {
    const points = pairs
      .filter((row) => row.system === system)
      .toSorted((a, b) => a.callers - b.callers)
      .map((row) => [x(row.callers), y(Math.max(value(row), scale.low))] as const)
    return line(points, i)
  })
  const bottom = PANEL.top + PANEL.height
  return [
    `<text x="${left}" y="${PANEL.top - 14}">${title}</text>`,
    ...powers(scale).map((power) => across(left, y(power), power)),
    ...callers.map(
      (count) =>
        `<text class="faint" x="${x(count)}" y="${bottom + 18}" text-anchor="middle">${count}</text>`,
    ),
    `<text class="faint" x="${left + PANEL.width / 2}" y="${bottom + 36}" text-anchor="middle">callers</text>`,
    ...lines,
  ].join('\n')
}

function line(points: readonly (readonly [number, number])[], i: number): string {
  const colour = COLOURS[i % COLOURS.length] as string
  const path = `<polyline class="line${i === 0 ? ' ours' : ''}" stroke="${colour}" points="${points.map((point) => point.join(',')).join(' ')}"/>`
  return [path, ...points.map(([x, y]) => mark(x, y, i))].join('\n')
}

/** A shape of its own for each, since colours are not everybody's. */
function mark(x: number, y: number, i: number): string {
  const fill = `fill="${COLOURS[i % COLOURS.length]}"`
  if (i % 3 === 0) return `<circle cx="${x}" cy="${y}" r="4.5" ${fill}/>`
  if (i % 3 === 1) return `<rect x="${x - 4}" y="${y - 4}" width="8" height="8" ${fill}/>`
  return `<path d="M${x} ${y - 5}l5 9h-10z" ${fill}/>`
}

const legend = (systems: readonly string[]): string[] =>
  systems.map((system, i) => {
    const x = 60 + i * 112
    return `${mark(x + 5, HEIGHT - 13, i)}<text x="${x + 16}" y="${HEIGHT - 9}">${escape(system)}</text>`
  })

const across = (left: number, y: number, power: number) =>
  [
    `<line class="grid" x1="${left}" y1="${y}" x2="${left + PANEL.width}" y2="${y}"/>`,
    `<text class="faint" x="${left - 8}" y="${y + 4}" text-anchor="end">${short(power)}</text>`,
  ].join('')

const share = (value: number, { low, high }: Scale) => Math.log(value / low) / Math.log(high / low)

/** Whole powers of ten that hold all values between them. */
function powersAround(values: readonly number[]): Scale {
  const logs = values.filter((value) => value > 0).map(Math.log10)
  const low = Math.floor(Math.min(...logs))
  return { low: 10 ** low, high: 10 ** Math.max(low + 1, Math.ceil(Math.max(...logs))) }
}

const powers = ({ low, high }: Scale): number[] =>
  Array.from({ length: Math.round(Math.log10(high / low)) + 1 }, (_, i) => low * 10 ** i)

const short = (value: number) => (value >= 1000 ? `${value / 1000}k` : String(round(value)))
const round = (value: number) => Math.round(value * 100) / 100
const escape = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
