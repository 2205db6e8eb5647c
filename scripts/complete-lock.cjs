const fs = require('fs')
const l = JSON.parse(fs.readFileSync('package-lock.json'))
const P = l.packages
let n = 0
for (const [k, v] of Object.entries(P)) {
  for (const [d, ver] of Object.entries(v.optionalDependencies ?? {})) {
    // resolve up
    let parts = k,
      found = false
    for (;;) {
      if (P[(parts ? parts + '/' : '') + 'node_modules/' + d]) {
        found = true
        break
      }
      if (!parts) break
      parts = parts.includes('/node_modules/') ? parts.slice(0, parts.lastIndexOf('/node_modules/')) : ''
    }
    if (found) continue
    const m = d.match(
      /(android|darwin|freebsd|linux|win32|openharmony|wasm32|netbsd|openbsd|aix|sunos)[-_]?(arm64|x64|arm|ia32|ppc64|riscv64|s390x|loong64)?/,
    )
    const e = { version: ver.replace(/^[\^~]/, ''), dev: v.dev, optional: true }
    if (m && m[1] !== 'wasm32') {
      e.os = [m[1]]
      if (m[2]) e.cpu = [m[2]]
      if (/musl/.test(d)) e.libc = ['musl']
      else if (m[1] === 'linux') e.libc = ['glibc']
    } else e.cpu = ['wasm32']
    if (!e.dev) delete e.dev
    P['node_modules/' + d] = e
    n++
    console.log(d, JSON.stringify(e))
  }
}
l.packages = Object.fromEntries(Object.entries(P).sort(([a], [b]) => (a < b ? -1 : 1)))
fs.writeFileSync('package-lock.json', JSON.stringify(l, null, 2) + '\n')
console.log(n)
