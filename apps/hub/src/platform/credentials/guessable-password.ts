import { ruleBroken } from '../pipeline/input-rules.ts'

/** The product's name, alone or repeated, with any digits and symbols around it. */
const PRODUCT_NAME = /^(?:\P{L}*muster)+\P{L}*$/u

/**
 * Throws `Invalid` with an issue at the input field `path` for a password that attackers try first: the account's address, the part
 * of the address before the @, or the name of the product.
 */
export function refuseGuessable(password: string, email: string, path = 'password'): void {
  const what = guessableSource(password.toLowerCase(), email.toLowerCase())
  if (what === undefined) return
  throw ruleBroken(path, `This password is ${what}: choose another.`)
}

function guessableSource(password: string, email: string): string | undefined {
  if (password === email) return 'the address of the account'
  if (password === email.slice(0, email.lastIndexOf('@'))) return 'a part of the address of the account'
  return PRODUCT_NAME.test(password) ? 'the name of the product' : undefined
}
