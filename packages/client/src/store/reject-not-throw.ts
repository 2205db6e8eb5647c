// Rule: a mistake rejects the promise; nothing is thrown at the caller.

export function attempt<T>(run: () => Promise<T>): Promise<T> {
  try {
    return run()
  } catch (error) {
    return Promise.reject(error)
  }
}
