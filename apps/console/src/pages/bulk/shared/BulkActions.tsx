import { useQueryClient } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { Ban, Ellipsis, PencilLine, ShieldCheck, Tag, TagX, Trash2, X } from 'lucide-react'
import { lazy, type ReactNode, Suspense, useState } from 'react'
import { useActionState } from '../../../api/queries.ts'
import { counted, formatCount } from '../../../lib/app/format.ts'
import { useSendOnLeave } from '../../../lib/app/held-request.ts'
import { useShortcut } from '../../../lib/app/shortcuts.ts'
import { useDebounced } from '../../../lib/app/use-debounced.ts'
import { loadCode } from '../../../lib/load-code.ts'
import { IconButton } from '../../../ui/app/IconButton.tsx'
import { Menu, MenuItem } from '../../../ui/app/Menu.tsx'
import { toastError } from '../../../ui/app/toast.ts'
import { Button } from '../../../ui/Button.tsx'
import { BulkProgress } from '../BulkProgress.tsx'
import type { ChangeForm } from '../changes/change-form.ts'
import { UndoButton } from '../UndoButton.tsx'
import { useBulkAction } from '../use-bulk-action.ts'
import { BulkPreviewDialog } from './BulkPreviewDialog.tsx'
import styles from './bar.module.css'
import { useCurrentBulk } from './bulk-store.ts'
import { type DecisionKind, isChange, isUnfinished, MAX_INLINE, resultTitle } from './bulk-words.ts'
import { closeBulk, holdBulk, isHeldBulk, sendBulk, showStartedBulk } from './current-bulk.ts'
import { HeldBulkWords } from './HeldBulkWords.tsx'
import { type BulkPreview, type BulkSelection, useBulkRun } from './use-bulk-run.ts'

const ChangeDialog = lazy(async () => ({
  default: (await loadCode(() => import('../changes/ChangeDialog.tsx'))).ChangeDialog,
}))

/** Selected devices of the device list: by id, or all that match a filter. */
type DeviceSelection =
  | { kind: 'ids'; deviceIds: string[] }
  | {
      kind: 'filter'
      filter: Extract<BulkSelection, { kind: 'filter' }>['filter']
      /** Number of devices that match, as the list shows it; `undefined` if it is unknown. The preview counts them again. */
      count: number | undefined
    }

type BulkActionsProps = {
  projectId: string
  selection: DeviceSelection
  /** Called when nothing is left to do with the selection, after an action has ended and the user has dismissed its result. */
  onDone: () => void
  /** Other actions on the selection, between Reject and Delete. */
  children?: ReactNode
}

/** Buttons for the selected devices: accept, reject, delete, each with a preview where needed, then its progress and outcome. */
export function BulkActions({ projectId, selection, onDone, children }: BulkActionsProps) {
  const queryClient = useQueryClient()
  const { preview, start, busy } = useBulkRun(projectId)
  const [shown, setShown] = useState<BulkPreview>()
  const [form, setForm] = useState<ChangeForm>()
  const bulk = useCurrentBulk(projectId)
  useSendOnLeave(sendBulk, projectId)
  useShortcut('l', 'Set a label', () => {
    if (bulk) return false
    setForm('set')
  })

  const devices: BulkSelection =
    selection.kind === 'ids'
      ? { kind: 'devices', deviceIds: selection.deviceIds }
      : { kind: 'filter', filter: selection.filter }
  // The counts are requested once the selection has not changed for 250 ms.
  const asked = useDebounced(JSON.stringify({ projectId, selection: devices }), 250)
  const counts = useActionState('devices_GetBulkCounts', JSON.parse(asked), { keepPrevious: true }).data
  const pending = counts?.pendingCertificateCount
  const total = selection.kind === 'ids' ? selection.deviceIds.length : selection.count

  if (bulk?.state === 'started')
    return (
      <Outcome
        projectId={projectId}
        bulkActionId={bulk.bulkActionId}
        onClose={() => {
          closeBulk()
          onDone()
        }}
      />
    )
  if (bulk) return <HeldBulkWords bulk={bulk} />

  async function ask(kind: DecisionKind) {
    start.reset()
    try {
      const made = await preview.mutateAsync({ kind, selection: devices })
      const isAsSeen = kind !== 'Delete' && selection.kind === 'ids' && made.itemCount === pending
      if (isAsSeen && made.itemCount > 0 && made.itemCount <= MAX_INLINE) await run(made)
      else setShown(made)
    } catch (error) {
      toastError(`Could not ${kind.toLowerCase()}`, error)
    }
  }
  async function run(made: BulkPreview) {
    if (isHeldBulk(made)) holdBulk(queryClient, { projectId, preview: made })
    else showStartedBulk(projectId, await start.mutateAsync(made))
    setShown(undefined)
  }

  const isBusy = busy !== undefined
  const nothing = pending === 0 ? 'None of these has a pending certificate.' : undefined
  return (
    <div className={styles.wrapped}>
      <Button icon={Tag} onClick={() => setForm('set')}>
        Set label…
      </Button>
      <Menu
        trigger={
          <Button aria-label="More">
            <Ellipsis className="icon" aria-hidden />
          </Button>
        }
      >
        <MenuItem icon={TagX} onSelect={() => setForm('remove')}>
          Remove label…
        </MenuItem>
        <MenuItem icon={PencilLine} onSelect={() => setForm('rename')}>
          Rename…
        </MenuItem>
      </Menu>
      <Button
        icon={ShieldCheck}
        busy={busy === 'Accept'}
        disabled={nothing !== undefined || (isBusy && busy !== 'Accept')}
        data-tip={nothing}
        aria-description={nothing}
        onClick={() => void ask('Accept')}
      >
        Accept {pending === undefined ? '' : counted(pending, 'certificate')}
      </Button>
      <Button
        icon={Ban}
        busy={busy === 'Reject'}
        disabled={nothing !== undefined || (isBusy && busy !== 'Reject')}
        data-tip={nothing}
        aria-description={nothing}
        onClick={() => void ask('Reject')}
      >
        Reject {pending === undefined ? '' : formatCount(pending)}
      </Button>
      {children}
      <Button
        icon={Trash2}
        variant="danger"
        busy={busy === 'Delete'}
        disabled={isBusy && busy !== 'Delete'}
        onClick={() => void ask('Delete')}
      >
        Delete {total === undefined ? 'all' : counted(total, 'device')}
      </Button>
      {form && (
        <Suspense>
          <ChangeDialog
            projectId={projectId}
            form={form}
            selection={devices}
            count={total}
            onStarted={bulkActionId => {
              setForm(undefined)
              showStartedBulk(projectId, bulkActionId)
            }}
            onClose={() => setForm(undefined)}
          />
        </Suspense>
      )}
      {shown && (
        <BulkPreviewDialog
          preview={shown}
          busy={start.isPending}
          error={start.error}
          onStart={() => void run(shown).catch(() => {})}
          onClose={() => setShown(undefined)}
        />
      )}
    </div>
  )
}

/** Progress of a started bulk action, then its outcome in one line with a link to the result of each device. */
function Outcome({
  projectId,
  bulkActionId,
  onClose,
}: {
  projectId: string
  bulkActionId: string
  onClose: () => void
}) {
  const { organization = '' } = useParams({ strict: false })
  const { data: action, error } = useBulkAction(projectId, bulkActionId)
  const place = { params: { organization, projectId }, search: { result: bulkActionId } }
  const result =
    action && isChange(action.kind) ? (
      // The result stands above the list then, so the bar ends.
      <Link to="/org_{$organization}/projects/$projectId/devices" {...place} onClick={onClose}>
        Show the result
      </Link>
    ) : (
      <Link to="/org_{$organization}/projects/$projectId/devices/pending" {...place}>
        Show the result
      </Link>
    )
  if (action && isUnfinished(action))
    return (
      <BulkProgress projectId={projectId} action={action}>
        {action.status === 'Running' && result}
      </BulkProgress>
    )
  return (
    <div className={styles.wrapped} role="status">
      <b>{action ? resultTitle(action) : error ? 'The result could not be loaded.' : 'Started.'}</b>
      {result}
      {action && (
        <UndoButton
          projectId={projectId}
          action={action}
          onStarted={undoId => showStartedBulk(projectId, undoId)}
        />
      )}
      <IconButton icon={X} size="sm" label="Close the result" onClick={onClose} />
    </div>
  )
}
