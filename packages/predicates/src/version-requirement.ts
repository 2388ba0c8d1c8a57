import { orderOfVersions } from './version-order.ts'

/** Largest requirement, in characters, as in the public protocol. */
export const MAX_REQUIREMENT_LENGTH = 256

const HOLDS: Record<string, (order: number) => boolean> = {
  '=': order => order === 0,
  '!=': order => order !== 0,
  '<': order => order < 0,
  '<=': order => order <= 0,
  '>': order => order > 0,
  '>=': order => order >= 0,
}

/** Whether a text names a version. Words such as `unknown` name none, so that they are neither old nor new. */
export function isVersion(text: string): boolean {
  return /[0-9]/.test(text)
}

/**
 * Reads a requirement on versions, such as `>=1.2.0, <2.0.0`: comparisons that all must hold, in the order of `sortVersions`. Returns a test
 * of versions, or undefined for a text that is no requirement.
 */
export function readRequirement(text: string): ((version: string) => boolean) | undefined {
  const tests = text.split(',').map(part => {
    const { sign, version } =
      /^\s*(?<sign>=|!=|<=?|>=?)\s*(?<version>[^\s=<>!]+)\s*$/.exec(part)?.groups ?? {}
    const holds = sign && version && isVersion(version) ? HOLDS[sign] : undefined
    return holds && ((other: string) => holds(orderOfVersions(other, version!)))
  })
  if (text.length > MAX_REQUIREMENT_LENGTH || !tests.every(test => test !== undefined)) return undefined
  return version => tests.every(test => test(version))
}
