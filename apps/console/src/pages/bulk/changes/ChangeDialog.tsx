import { useState } from 'react'
import { useCommand } from '../../../api/queries.ts'
import { counted } from '../../../lib/app/format.ts'
import { ErrorAlert } from '../../../ui/Alert.tsx'
import { Dialog, DialogBody, DialogFoot } from '../../../ui/app/Dialog.tsx'
import { Button } from '../../../ui/Button.tsx'
import { Spinner } from '../../../ui/Spinner.tsx'
import { TextField } from '../../../ui/TextField.tsx'
import { LabelFields } from '../../labels/shared/LabelFields.tsx'
import type { LabelDraft } from '../../labels/shared/label-drafts.ts'
import { MAX_INLINE } from '../shared/bulk-words.ts'
import styles from './ChangeDialog.module.css'
import { type ChangeForm, readChange } from './change-form.ts'
import { PreviewView } from './PreviewView.tsx'
import { type ChangePreview, type DeviceSelection, usePreview } from './use-preview.ts'

type ChangeDialogProps = {
  projectId: string
  form: ChangeForm
  selection: DeviceSelection
  /** Number of selected devices; undefined if it is not known. */
  count: number | undefined
  /** Called with the id of the bulk action that was started. */
  onStarted: (bulkActionId: string) => void
  onClose: () => void
}

type Words = { title: (devices: string) => string; start: (devices: string) => string; already: string }
const WORDS: Readonly<Record<ChangeForm, Words>> = {
  set: {
    title: devices => `Set label on ${devices}`,
    start: devices => `Set label on ${devices}`,
    already: 'Have it already',
  },
  remove: {
    title: devices => `Remove label from ${devices}`,
    start: devices => `Remove label from ${devices}`,
    already: 'Do not have it',
  },
  rename: {
    title: devices => `Rename ${devices}`,
    start: devices => `Rename ${devices}`,
    already: 'Have this name already',
  },
}

/** Dialog that changes labels or names of selected devices: the form, the preview of what it would do, and the button that does exactly this. */
export function ChangeDialog({ projectId, form, selection, count, onStarted, onClose }: ChangeDialogProps) {
  const [drafts, setDrafts] = useState<readonly LabelDraft[]>([{ key: '', value: '' }])
  const [pattern, setPattern] = useState('')
  const [firstIndex, setFirstIndex] = useState('')
  const read = readChange(form, { drafts, pattern, firstIndex })
  const { preview, error, isPending } = usePreview(projectId, selection, read)
  const start = useCommand('devices_StartBulkChange', {
    invalidates: ['projects_QueryDevices', 'projects_QueryLabelKeys', 'projects_QueryLabelValues'],
  })
  const words = WORDS[form]
  const devices = count === undefined ? 'all that match' : counted(count, 'device')
  const isDirty = pattern !== '' || drafts.some(({ key }) => key !== '')

  async function run({ bulkActionId }: ChangePreview) {
    await start.mutateAsync({ projectId, bulkActionId })
    onStarted(bulkActionId)
  }
  const isNothing = preview?.changeCount === 0
  return (
    <Dialog
      className={styles.dialog}
      title={words.title(devices)}
      busy={start.isPending}
      dirty={isDirty}
      onClose={onClose}
    >
      <DialogBody>
        {form === 'rename' ? (
          <div className={styles.rename}>
            <TextField
              label="Pattern"
              required
              mono
              value={pattern}
              onChange={setPattern}
              error={read.problem}
              placeholder="{label:site}-{index:3}"
              help="Text with {name}, {hostname}, {id}, {label:KEY}, {index} or {index:3}, which has at least 3 digits."
            />
            <TextField
              label="First number"
              inputMode="numeric"
              value={firstIndex}
              onChange={setFirstIndex}
              error={read.indexProblem}
              placeholder="1"
              help="Of {index}, in the order of the list."
            />
          </div>
        ) : (
          <LabelFields
            projectId={projectId}
            label={form === 'set' ? 'Label' : 'Labels to remove'}
            required
            keysOnly={form === 'remove'}
            drafts={drafts}
            onChange={setDrafts}
            error={drafts.at(-1)?.value === '' && form === 'set' ? undefined : read.problem}
          />
        )}
        <div className={styles.live} aria-live="polite">
          {isPending && !preview && (
            <p className="row secondary">
              <Spinner /> Looking at {devices}…
            </p>
          )}
          {isNothing && <p className="secondary">Nothing to do: {nothingWords(preview, words)}</p>}
        </div>
        <ErrorAlert title="The change cannot be previewed." error={error} />
        {preview && !isNothing && (
          <PreviewView projectId={projectId} preview={preview} alreadyWords={words.already}>
            {preview.changeCount > MAX_INLINE && 'It runs in the background, you can leave.'}
          </PreviewView>
        )}
        {preview && isNothing && preview.excluded.length > 1 && (
          <PreviewView projectId={projectId} preview={preview} alreadyWords={words.already} />
        )}
        <ErrorAlert title="The change was not started." error={start.error} />
      </DialogBody>
      <DialogFoot>
        <Button disabled={start.isPending} onClick={onClose}>
          {isNothing ? 'Close' : 'Cancel'}
        </Button>
        {!isNothing && (
          <Button
            variant="primary"
            busy={start.isPending}
            disabled={!preview}
            onClick={() => preview && void run(preview).catch(() => {})}
          >
            {words.start(preview ? counted(preview.changeCount, 'device') : devices)}
          </Button>
        )}
      </DialogFoot>
    </Dialog>
  )
}

/** Why a change changes nothing: "all 318 have it already.", or "318 devices are left out." */
function nothingWords({ itemCount, excluded, leftOutCount }: ChangePreview, { already }: Words): string {
  const same = excluded.find(({ reason }) => reason === 'AlreadySet')?.deviceCount ?? 0
  if (same === itemCount && leftOutCount === 0 && same > 0)
    return same === 1
      ? 'the device is like this already.'
      : `all ${counted(same, 'device')} ${lower(already)}.`
  return 'no device changes.'
}

const lower = (words: string) => words.charAt(0).toLowerCase() + words.slice(1)
