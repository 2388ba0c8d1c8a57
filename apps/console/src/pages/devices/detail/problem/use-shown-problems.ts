import { useEffect, useState } from 'react'
import type { Problem } from '../problems.ts'

/** A problem on screen. `endedAtMs` is the time at which the page saw that the problem was gone. */
export type ShownProblem = Problem & { endedAtMs?: number }

/** Time, in milliseconds, for which a problem that has ended stays on screen, so that nothing moves under the reader's eyes. */
const ENDED_SHOWN_MS = 60_000

/** Kinds in the sort order of `problemsOf`. A problem that has ended is shown at the place of its kind. */
const ORDER: readonly Problem['kind'][] = [
  'refused',
  'identity',
  'update',
  'health',
  'certificate',
  'expiry',
  'clock',
  'offline',
]

/** The problems of a device, and problems that ended less than 60 s ago while the page was open. `undefined` until they have loaded. */
export function useShownProblems(problems: readonly Problem[] | undefined): ShownProblem[] | undefined {
  const [last, setLast] = useState(problems)
  const [ended, setEnded] = useState<readonly ShownProblem[]>([])
  if (problems && problems !== last && textOf(problems) !== textOf(last ?? [])) {
    const kinds = new Set(problems.map(({ kind }) => kind))
    const gone = (last ?? []).filter(({ kind }) => !kinds.has(kind))
    const kept = ended.filter(({ kind }) => !kinds.has(kind))
    setLast(problems)
    setEnded([...kept, ...gone.map(problem => ({ ...problem, endedAtMs: Date.now() }))])
  }
  useEffect(() => {
    if (ended.length === 0) return
    const firstMs = Math.min(...ended.map(({ endedAtMs = 0 }) => endedAtMs))
    const timer = setTimeout(
      () => setEnded(now => now.filter(({ endedAtMs = 0 }) => Date.now() - endedAtMs < ENDED_SHOWN_MS)),
      firstMs + ENDED_SHOWN_MS - Date.now(),
    )
    return () => clearTimeout(timer)
  }, [ended])
  return problems && [...problems, ...ended].sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind))
}

function textOf(problems: readonly Problem[]): string {
  return JSON.stringify(problems)
}
