import { useEffect, useRef, useState } from 'react'
import type { PendingCertificate } from './use-pending-list.ts'

/** Time, in milliseconds, for which the row of a certificate stays after another user has decided on it. */
const STAY_MS = 4_000
/**
 * Maximum number of rows that stay on screen for `STAY_MS`. If more certificates leave the list together, a bulk action has decided on
 * them, and their rows disappear immediately.
 */
const MOST = 5

type Left = { certificate: PendingCertificate; index: number }

/**
 * Keeps the row of a certificate on screen for 4 s after another user has decided on it. After a decision of this user, the row disappears
 * immediately. `listKey` identifies the filter and the grouping. When it changes, the kept rows disappear.
 */
export function useLeavingRows(certificates: readonly PendingCertificate[], listKey: string) {
  const [left, setLeft] = useState<readonly Left[]>([])
  const before = useRef({ listKey, certificates })
  const isOwn = useRef(false)
  const ids = certificates.map(({ certificateId }) => certificateId).join(' ')

  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when rows come or go, not at each answer
  useEffect(() => {
    const now = new Set<string>(ids.split(' '))
    const { listKey: ofKey, certificates: shown } = before.current
    before.current = { listKey, certificates }
    const gone = shown.flatMap((certificate, index) =>
      now.has(certificate.certificateId) ? [] : [{ certificate, index }],
    )
    const isForeign = ofKey === listKey && !isOwn.current && gone.length > 0 && gone.length <= MOST
    setLeft(isForeign ? gone : [])
    if (!isForeign) return
    const timer = setTimeout(() => setLeft([]), STAY_MS)
    return () => clearTimeout(timer)
  }, [ids, listKey])

  const rows = [...certificates]
  for (const { certificate, index } of left) rows.splice(Math.min(index, rows.length), 0, certificate)
  return {
    rows,
    leavingIds: new Set<string>(left.map(({ certificate }) => certificate.certificateId)),
    /** While set to true, rows leave at once, because the user has decided about these certificates. */
    setOwn(next: boolean) {
      isOwn.current = next
    },
  }
}
