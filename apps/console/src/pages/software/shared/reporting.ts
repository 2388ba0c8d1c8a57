import { counted } from '../../../lib/app/format.ts'

/** The set by which shares of a package's versions are divided, the same on every page: "727 devices that report gateway". */
export function reporting(count: number, packageName: string): string {
  return `${counted(count, 'device')} that ${count === 1 ? 'reports' : 'report'} ${packageName}`
}
