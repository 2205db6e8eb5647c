// Rule: turns an exception of a call with wrong arguments into a rejected promise.

export function attempt<T>(run: () => Promise<T>): Promise<T> {
  try {
    return run()
  } catch (error) {
    return Promise.reject(error)
  }
}
