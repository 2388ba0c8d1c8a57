import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useMemo, useRef, useState } from 'react'
import { invoke } from '../../../api/client.ts'
import { actionQuery, useActionState } from '../../../api/queries.ts'
import { useStable } from '../../../lib/app/use-stable.ts'
import { toastError } from '../../../ui/app/toast.ts'
import { type ColumnView, DEFAULT_VIEW, readView, writeView } from './column-view.ts'

/** Pause, in milliseconds, from the last change until the view is saved on the hub. */
const SAVE_AFTER_MS = 2_000

/** A person's view of the device list of a project. It is saved on the hub 2 s after the last change, or when the page is left. */
export function useColumnView(projectId: string) {
  const queryClient = useQueryClient()
  const { data: kept, isError } = useActionState('users_GetView', { projectId })
  const [edited, setEdited] = useState<ColumnView>()
  const unsaved = useRef<{ view: ColumnView; timer: ReturnType<typeof setTimeout> }>(undefined)

  function save() {
    if (!unsaved.current) return
    const { view, timer } = unsaved.current
    clearTimeout(timer)
    unsaved.current = undefined
    const input = writeView(projectId, view)
    const { projectId: _, ...output } = input
    queryClient.setQueryData(actionQuery('users_GetView', { projectId }).queryKey, output as never)
    // `keepalive` lets the request outlive the page.
    invoke('users_SetView', input, { keepalive: true }).catch((error: unknown) =>
      toastError('Your columns were not kept.', error),
    )
  }
  const saveNow = useStable(save)
  useEffect(() => {
    window.addEventListener('pagehide', saveNow)
    return () => {
      window.removeEventListener('pagehide', saveNow)
      saveNow()
    }
  }, [saveNow])

  const read = useMemo(() => (kept ? readView(kept) : DEFAULT_VIEW), [kept])
  return {
    view: edited ?? read,
    /** Whether the hub has answered. Until then, the view is the default one. */
    isKnown: kept !== undefined || isError,
    /** Paths of kept columns that the hub has left out, because they are too long. */
    leftOut: kept?.leftOut ?? [],
    change(view: ColumnView) {
      setEdited(view)
      clearTimeout(unsaved.current?.timer)
      unsaved.current = { view, timer: setTimeout(saveNow, SAVE_AFTER_MS) }
    },
  }
}
