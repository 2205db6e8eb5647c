// Test: which parts of a declaration docs/api.md shows, and which parts it leaves out.

import { expect, test } from 'vitest'
import { declarationsOf, readable } from './declarations.mjs'

const SOURCE = `import { x } from './x.js';
/** A thing. */
export declare class Thing {
    #private;
    private secret;
    /** Internal: the store makes them. */
    constructor(port: Port, more: {
        a: string;
    });
    /**
     * Does it; see { braces }.
     */
    run(options?: {
        times?: number | undefined;
    } | undefined): Promise<void>;
    _hidden(): void;
    get held(): boolean;
}
export type Kind = {
    type: 'a';
} | {
    type: 'b';
};
/** Once. */
export declare function twice(a: string): void;
/** Again. */
export declare function twice(a: number): void;
export {};
//# sourceMappingURL=x.d.ts.map`

test('each exported name is found, overloads together', () => {
  const found = declarationsOf(SOURCE)
  expect([...found.keys()]).toEqual(['Thing', 'Kind', 'twice'])
  expect(readable(found.get('twice'))).toBe(
    '/** Once. */\nfunction twice(a: string): void\n/** Again. */\nfunction twice(a: number): void\n',
  )
})

test('members of the house stay in it, the rest is as it would be written', () => {
  expect(readable(declarationsOf(SOURCE).get('Thing'))).toBe(`/** A thing. */
class Thing {
  /**
   * Does it; see { braces }.
   */
  run(options?: {
    times?: number
  } | undefined): Promise<void>
  get held(): boolean
}
`)
})

test('a union over several lines is one declaration', () => {
  expect(readable(declarationsOf(SOURCE).get('Kind'))).toBe(
    "type Kind = {\n  type: 'a'\n} | {\n  type: 'b'\n}\n",
  )
})
