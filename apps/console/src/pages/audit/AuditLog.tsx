import type { ActionName } from '@muster/actions/client'
import { ScrollText } from 'lucide-react'
import type { ComponentProps, ReactNode } from 'react'
import { useChangeSearch } from '../../lib/app/search.ts'
import { DateBox } from '../../ui/app/DateBox.tsx'
import { EmptyState } from '../../ui/app/EmptyState.tsx'
import { ExportMenu } from '../../ui/app/ExportMenu.tsx'
import { FilterBox } from '../../ui/app/FilterBox.tsx'
import { ListPage } from '../../ui/app/ListPage.tsx'
import { SuggestBox } from '../../ui/lazy/SuggestBox.tsx'
import { type AuditRow, AuditTable } from './AuditTable.tsx'
import type { AuditSearch } from './audit-params.ts'

type AuditLogProps = {
  title: string
  /** Query action of the list. */
  action: ActionName
  /** Input of the action without `cursor` and `limit`, for exports. */
  input: { filter: object }
  list: ComponentProps<typeof ListPage>['list']
  /** `undefined` while the rows load. */
  rows: AuditRow[] | undefined
  search: AuditSearch
  endHead: string
  hasTimestamp?: boolean
  dense?: boolean
  /** A further filter on a separate line. */
  children?: ReactNode
}

/** Page with an audit log of the instance, a project or a repository, with filters and exports. */
export function AuditLog({
  title,
  action,
  input,
  list,
  rows,
  search,
  endHead,
  hasTimestamp = false,
  dense = false,
  children,
}: AuditLogProps) {
  const change = useChangeSearch<AuditSearch & { status?: string }>()
  const isFiltered = Object.keys(input.filter).length > 0
  const { actor = '', type = '', from = '', to = '' } = search
  const types = [...new Set(rows?.map(row => row.type))].sort()
  return (
    <ListPage
      title={title}
      what="entries"
      list={list}
      shown={rows?.length}
      actions={<ExportMenu action={action} input={input} />}
    >
      <div className="tools">
        <FilterBox
          value={actor}
          onChange={text => change({ actor: text })}
          label="Filter by actor"
          placeholder="Filter by actor"
        />
        <SuggestBox
          value={type}
          options={types}
          onChange={name => change({ type: name })}
          label="Filter by type"
          placeholder="Type"
        />
        <DateBox label="From" value={from} onChange={day => change({ from: day })} />
        <DateBox label="To" value={to} onChange={day => change({ to: day })} />
      </div>
      {children && <div className="tools">{children}</div>}
      {rows?.length === 0 && !isFiltered && !list.isPlaceholderData ? (
        <EmptyState icon={ScrollText} title="Nothing has happened here yet." />
      ) : (
        <AuditTable
          caption={title}
          rows={rows}
          endHead={endHead}
          hasTimestamp={hasTimestamp}
          dense={dense}
          onClear={() => change(NO_FILTER)}
        />
      )}
    </ListPage>
  )
}

const NO_FILTER = { actor: '', type: '', from: '', to: '', status: '' }
