/** @type {import('jest').Config} */
export default { testMatch: ['**/*.test.mjs'], transform: {} }
