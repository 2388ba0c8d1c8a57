/** Says that a database server that was asked has not answered for so long, in milliseconds. */
export function silence(afterMs: number): Error {
  const error = new Error(`The database has said nothing for ${afterMs / 1000} s.`)
  return Object.assign(error, { code: 'ETIMEDOUT' })
}
