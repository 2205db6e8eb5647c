// Test: metrics are written as text that Prometheus can read.

import { expect, test } from 'vitest'
import { expositionOf } from './prometheus-text.js'

test('help, type and a line for each value; labels are escaped; a metric without values is left out', () => {
  const text = expositionOf([
    { name: 'none', help: 'none', type: 'gauge', values: [] },
    { name: 'up', help: 'a\nb', type: 'gauge', values: [{ labels: {}, value: 1.5 }] },
    {
      name: 'took',
      help: 'how long',
      type: 'histogram',
      values: [{ labels: { le: '+Inf', of: 'a"b\\' }, value: 2, metricName: 'took_bucket' }],
    },
  ])
  expect(text).toBe(
    '# HELP up a\\nb\n# TYPE up gauge\nup 1.5\n\n# HELP took how long\n# TYPE took histogram\ntook_bucket{le="+Inf",of="a\\"b\\\\"} 2\n',
  )
})
