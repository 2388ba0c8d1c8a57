import { useEffect, useRef, useState } from 'react'
import { toastError } from '../../ui/app/toast.ts'
import type { PendingCertificate, PendingList } from './use-pending-list.ts'

/** The selected pending certificates, and how clicks and keys change them. */
export function useSelectedCertificates(list: PendingList) {
  const { certificates } = list
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const [isAsking, setAsking] = useState(false)
  /** Last row that was clicked, where a range begins. */
  const anchor = useRef<string>(undefined)

  // A certificate that another user accepts or rejects leaves the list, so it is deselected.
  const ids = certificates.map(({ certificateId }) => certificateId).join(' ')
  const before = useRef<ReadonlySet<string>>(new Set())
  useEffect(() => {
    const now: ReadonlySet<string> = new Set(ids.split(' '))
    const left = [...before.current].filter(id => !now.has(id))
    before.current = now
    if (left.length > 0)
      setSelected(all =>
        left.some(id => all.has(id)) ? new Set([...all].filter(id => !left.includes(id))) : all,
      )
  }, [ids])

  function set(changed: readonly string[], isOn: boolean) {
    setSelected(all => {
      const next = new Set(all)
      for (const id of changed) isOn ? next.add(id) : next.delete(id)
      return next
    })
  }

  return {
    selected,
    /** Whether ids of rows that are not loaded are being fetched. */
    isAsking,
    /** Toggles a row. With `isRange`, all rows between the last clicked row and this row get the same new state. */
    toggle({ certificateId }: PendingCertificate, isRange: boolean) {
      const isOn = !selected.has(certificateId)
      const order: string[] = certificates.map(one => one.certificateId)
      const from = isRange && anchor.current !== undefined ? order.indexOf(anchor.current) : -1
      const to = order.indexOf(certificateId)
      anchor.current = certificateId
      if (from === -1) set([certificateId], isOn)
      else set(order.slice(Math.min(from, to), Math.max(from, to) + 1), isOn)
    },
    /** Selects or clears all rows of a group, or of the whole list. Fetches the ids of the rows that are not loaded. */
    async toggleMany(loaded: readonly string[], count: number, isOn: boolean, groupKey?: string) {
      set(loaded, isOn)
      if (loaded.length >= count) return
      setAsking(true)
      try {
        set(await list.allIds(groupKey), isOn)
      } catch (error) {
        toastError('Could not select all', error)
      } finally {
        setAsking(false)
      }
    },
    clear: () => setSelected(new Set()),
  }
}

/** State of `useSelectedCertificates`. */
export type SelectedCertificates = ReturnType<typeof useSelectedCertificates>
