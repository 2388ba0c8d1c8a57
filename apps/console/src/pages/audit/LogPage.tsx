import { ScrollText } from 'lucide-react'
import type { ReactNode } from 'react'
import { usePageSearch } from '../../lib/app/search.ts'
import { EmptyState } from '../../ui/app/EmptyState.tsx'
import { ExportMenu } from '../../ui/app/ExportMenu.tsx'
import { ListPage } from '../../ui/app/ListPage.tsx'
import { NewEntriesButton } from '../../ui/lazy/NewEntriesButton.tsx'
import { auditSearch } from './audit-search.ts'
import { LogFilters } from './LogFilters.tsx'
import { type LogColumns, LogTable } from './LogTable.tsx'
import { LogSubjects } from './sentences/Sentence.tsx'
import type { LogAction, RangeCounting, useLog } from './use-log.ts'

type LogPageProps = {
  title: string
  /** Breadcrumb above the heading. */
  crumb?: ReactNode
  /** Query action of the list, and its input without `cursor` and `limit`, for exports. */
  action: LogAction
  input: { filter: object; outcome?: string }
  log: ReturnType<typeof useLog>
  isFiltered: boolean
  /** Number of entries by time range. Absent for the log of actions, because the hub does not count actions. */
  counting?: RangeCounting
  columns: LogColumns
  /** Filter by outcome or, in the log of actions, by status. */
  outcome: ReactNode
  /** Content between the filters and the table. */
  above?: ReactNode
}

/** Page with a log: filters, and the entries as sentences. */
export function LogPage({
  title,
  crumb,
  action,
  input,
  log,
  isFiltered,
  counting,
  columns,
  outcome,
  above,
}: LogPageProps) {
  const { entries, subjects, sealing, waiting, showNew, list } = log
  const [, change] = usePageSearch(auditSearch)
  const isInstance = columns !== 'short'
  return (
    <LogSubjects value={{ subjects, isInstance }}>
      <ListPage
        {...(crumb && { crumb })}
        title={title}
        what="entries"
        list={list}
        shown={entries?.length}
        actions={<ExportMenu action={action} input={input} />}
      >
        <LogFilters entries={entries ?? []} subjects={subjects} isInstance={isInstance} counting={counting}>
          {outcome}
        </LogFilters>
        {entries?.length === 0 && !isFiltered && !list.isPlaceholderData ? (
          <EmptyState icon={ScrollText} title="Nothing has happened here yet." />
        ) : (
          <>
            {above}
            <LogTable
              caption={title}
              entries={entries}
              sealing={sealing}
              columns={columns}
              notice={
                <NewEntriesButton waiting={waiting} words={['new entry', 'new entries']} onShow={showNew} />
              }
              onClear={() => change(NO_FILTER)}
            />
          </>
        )}
      </ListPage>
    </LogSubjects>
  )
}

const NO_FILTER = Object.fromEntries(Object.keys(auditSearch).map(name => [name, undefined]))
