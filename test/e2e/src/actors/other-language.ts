// Rule: what the examples in other languages say, which tell the same story.

/** In lower case, because each language writes true in its own way. */
export const toldByOtherLanguage = (language: 'python' | 'go'): string => `\
listed ${language}/list/1 ${language}/list/2 ${language}/list/3
txn true false
watched ${language}/watched/a seen
held after its lease true others 0
released 200
the waiter has it true with a higher token true
`
