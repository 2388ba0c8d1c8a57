import { getRouteApi, Link } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { useCommand } from '../../../api/queries.ts'
import { counted, formatCount } from '../../../lib/app/format.ts'
import { ErrorAlert } from '../../../ui/Alert.tsx'
import { Page, PageHead } from '../../../ui/app/Page.tsx'
import { Button } from '../../../ui/Button.tsx'
import { Breadcrumb } from '../../../ui/lazy/Breadcrumb.tsx'
import { PreviewView } from '../changes/PreviewView.tsx'
import { BulkResult } from '../shared/BulkResult.tsx'
import { MAX_INLINE } from '../shared/bulk-words.ts'
import { ColumnsStep } from './ColumnsStep.tsx'
import { guessUses, readUses, type Uses } from './column-uses.ts'
import { FileStep, type Source } from './FileStep.tsx'
import styles from './ImportPage.module.css'
import { useImport } from './use-import.ts'

const route = getRouteApi('/authenticated/org_{$organization}/projects/$projectId/devices/import')

/** Imports names and labels of devices from a CSV file: the file, its columns, the preview, and the result of each device. */
export function ImportPage() {
  const params = route.useParams()
  return (
    <Page width="list">
      <Breadcrumb
        links={[
          <Link key="devices" to="/org_{$organization}/projects/$projectId/devices" params={params}>
            Devices
          </Link>,
        ]}
        here="Import names and labels"
      />
      <PageHead title="Import names and labels" />
      <Steps key={params.projectId} {...params} />
    </Page>
  )
}

function Steps({ projectId, organization }: { projectId: string; organization: string }) {
  const [source, setSource] = useState<Source>()
  const [uses, setUses] = useState<Uses>()
  const [emptyRemoves, setEmptyRemoves] = useState(false)
  const [startedId, setStartedId] = useState<string>()
  const { state, preview, forget } = useImport(projectId)
  const start = useCommand('devices_StartBulkChange', {
    invalidates: ['projects_QueryDevices', 'projects_QueryLabelKeys', 'projects_QueryLabelValues'],
    onSuccess: (_, { bulkActionId }) => setStartedId(bulkActionId),
  })
  const problem = uses && readUses(uses).problem

  // A preview is of the file and the uses of its columns at that time, so each change drops it.
  function changed<Value>(set: (value: Value) => void) {
    return (value: Value) => {
      forget()
      start.reset()
      set(value)
    }
  }
  function take(next: Source | undefined) {
    forget()
    setSource(next)
    setUses(next && guessUses(next.table.headers))
  }
  if (startedId !== undefined)
    return (
      <>
        <BulkResult
          key={startedId}
          projectId={projectId}
          organization={organization}
          bulkActionId={startedId}
          onClose={() => {
            setStartedId(undefined)
            take(undefined)
          }}
          onResult={setStartedId}
        />
        <div className="tools">
          <Button
            onClick={() => {
              setStartedId(undefined)
              take(undefined)
            }}
          >
            Import another file
          </Button>
        </div>
      </>
    )
  const isSending = state.step === 'sending'
  return (
    <div className={styles.steps}>
      <FileStep source={source} onSource={take} />
      {source && uses && (
        <ColumnsStep
          projectId={projectId}
          source={source}
          uses={uses}
          onUses={changed(setUses)}
          emptyRemoves={emptyRemoves}
          onEmptyRemoves={changed(setEmptyRemoves)}
          problem={problem}
        />
      )}
      {source && uses && state.step !== 'previewed' && (
        <div className={styles.send}>
          <Button
            variant="primary"
            busy={isSending}
            disabled={problem !== undefined}
            onClick={() => void preview({ table: source.table, uses, emptyRemoves })}
          >
            Preview {counted(source.table.lines.length, 'row')}
          </Button>
          {isSending && (
            <span className="secondary" role="status">
              {formatCount(state.sent)} of {counted(state.total, 'row')} checked…
            </span>
          )}
        </div>
      )}
      {state.step === 'failed' && <ErrorAlert title="The import was not previewed." error={state.error} />}
      {state.step === 'previewed' && (
        <Preview>
          <PreviewView projectId={projectId} preview={state.preview} alreadyWords="Have it already">
            {state.preview.changeCount > MAX_INLINE && 'It runs in the background, you can leave.'}
          </PreviewView>
          <ErrorAlert title="The import was not started." error={start.error} />
          <div className={styles.send}>
            <Button
              variant="primary"
              busy={start.isPending}
              disabled={state.preview.changeCount === 0}
              onClick={() => start.mutate({ projectId, bulkActionId: state.preview.bulkActionId })}
            >
              {state.preview.changeCount === 0
                ? 'Nothing to do'
                : `Change ${counted(state.preview.changeCount, 'device')}`}
            </Button>
          </div>
        </Preview>
      )}
    </div>
  )
}

/** The preview. It takes the focus, because the button that asked for it is gone. */
function Preview({ children }: { children: ReactNode }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [])
  return (
    <section className="sheet" aria-labelledby="import-preview">
      <h2 className={styles.title} id="import-preview" ref={heading} tabIndex={-1}>
        Preview
      </h2>
      <div className={styles.body}>{children}</div>
    </section>
  )
}
