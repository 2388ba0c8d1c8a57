import { type CsvTable, importPortions, importRows } from '@muster/csv'
import { useEffect, useRef, useState } from 'react'
import { invoke } from '../../../api/client.ts'
import type { ChangePreview } from '../changes/use-preview.ts'
import { readUses, type Uses } from './column-uses.ts'

/** What is imported: a table, the uses of its columns, and whether an empty cell removes the label or the name. */
type Import = { table: CsvTable; uses: Uses; emptyRemoves: boolean }

type State =
  | { step: 'asked' }
  | { step: 'sending'; sent: number; total: number }
  | { step: 'previewed'; preview: ChangePreview }
  | { step: 'failed'; error: unknown }

/** Sends an import to the hub in portions, and then has its preview. `forget` drops it, also while it is sent. */
export function useImport(projectId: string) {
  const [state, setState] = useState<State>({ step: 'asked' })
  const running = useRef<AbortController>(undefined)

  // A page that is left sends no further portions.
  useEffect(() => () => running.current?.abort(), [])

  function forget() {
    running.current?.abort()
    setState({ step: 'asked' })
  }

  async function preview({ table, uses, emptyRemoves }: Import) {
    running.current?.abort()
    const sending = new AbortController()
    running.current = sending
    const { signal } = sending
    const { keyAt, places } = readUses(uses)
    setState({ step: 'sending', sent: 0, total: table.lines.length })
    try {
      const rows = importRows(
        table,
        keyAt,
        places.map(({ at }) => at),
      )
      const columns = places.map(({ column }) => column)
      const { by } = uses
      const form = { by, ...(by === 'property' && { property: uses.property.trim() }), columns, emptyRemoves }
      const { bulkActionId } = await invoke('devices_CreateBulkImport', { projectId, ...form }, { signal })
      for (const portion of importPortions(rows)) {
        const added = { projectId, bulkActionId, rows: portion }
        const { rowCount } = await invoke('devices_AddBulkImportRows', added, { signal })
        setState({ step: 'sending', sent: rowCount, total: rows.length })
      }
      const found = await invoke('devices_GetBulkPreview', { projectId, bulkActionId }, { signal })
      setState({ step: 'previewed', preview: found })
    } catch (error) {
      if (!signal.aborted) setState({ step: 'failed', error })
    }
  }
  return { state, preview, forget }
}
