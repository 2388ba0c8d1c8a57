import type { ActionInput } from '@muster/actions/client'
import { ChevronDown, Download, X } from 'lucide-react'
import { formatCount } from '../../../../lib/app/format.ts'
import { useShortcut } from '../../../../lib/app/shortcuts.ts'
import { useIsNarrow } from '../../../../lib/app/use-is-narrow.ts'
import { focusHeading } from '../../../../lib/focus-heading.ts'
import { ExportItems } from '../../../../ui/app/ExportMenu.tsx'
import { IconButton } from '../../../../ui/app/IconButton.tsx'
import { Menu } from '../../../../ui/app/Menu.tsx'
import { Button } from '../../../../ui/Button.tsx'
import { BulkActions } from '../../../bulk/shared/BulkActions.tsx'
import styles from '../../../bulk/shared/bar.module.css'
import { useCurrentBulk } from '../../../bulk/shared/bulk-store.ts'
import { useActionsShortcut } from '../../../bulk/shared/use-actions-shortcut.ts'
import type { Selection } from '../selection.ts'

/** Maximum number of ids in the URL of an export: browsers and proxies limit the length of URLs, often to 16 KiB. */
const MAX_EXPORTED_IDS = 300

type SelectionBarProps = {
  selection: Selection
  /** Number of devices that match the filter. */
  total: number | undefined
  /** Whether these could not be counted. */
  isUncounted: boolean
  /** Input of the query for the list. */
  input: Omit<ActionInput<'projects_QueryDevices'>, 'cursor'>
  onClose: () => void
}

/** Bar at the bottom of the list while devices are selected: their number, what can be done with them, and Clear. */
export function SelectionBar({ selection, total, isUncounted, input, onClose }: SelectionBarProps) {
  const isNarrow = useIsNarrow()
  const clear = () => {
    if (document.activeElement?.closest(`.${styles.bar}`)) focusHeading()
    selection.clear()
    onClose()
  }
  useShortcut('Escape', 'Clear the selection', clear)
  const bar = useActionsShortcut()
  const { selected, isAll, idCount } = selection
  const isActing = useCurrentBulk(input.projectId) !== undefined
  const bulk = { projectId: input.projectId, selection: selected, onDone: clear }
  if (isActing)
    return (
      <section className={styles.bar} aria-label="Selection">
        <BulkActions {...bulk} />
      </section>
    )
  const hasMore =
    selection.isChecked && (total === undefined ? isUncounted : total > (selection.matchCount ?? 0))
  const tooMany = selected.kind === 'ids' && selected.deviceIds.length > MAX_EXPORTED_IDS
  const { limit: _, ...whole } = input
  const exported =
    selected.kind === 'ids'
      ? { ...whole, filter: { deviceIds: selected.deviceIds }, countTotal: false }
      : { ...whole, countTotal: false }
  const exports = tooMany ? (
    <span className="muted">Export takes all that match, or up to {MAX_EXPORTED_IDS} devices.</span>
  ) : (
    <Menu
      trigger={
        <Button icon={Download}>
          Export
          <ChevronDown className="icon small-icon" aria-hidden />
        </Button>
      }
    >
      <ExportItems action="projects_QueryDevices" input={exported} />
    </Menu>
  )
  return (
    <section ref={bar} className={styles.bar} aria-label="Selection">
      <div className={`row ${styles.selected}`}>
        <b role="status">{selectionText(selection)}</b>
        {isAll && idCount > 0 && (
          <button type="button" className={styles.link} onClick={selection.selectRows}>
            Only the {formatCount(idCount)}
          </button>
        )}
        {!isAll && hasMore && (
          <button type="button" className={styles.link} onClick={selection.selectAll}>
            Select all {total === undefined ? '' : `${formatCount(total)} `}that match
          </button>
        )}
      </div>
      <span className={styles.divider} />
      <div className={styles.actions}>
        {selection.isChecked &&
          (selection.matchCount !== 0 ? <BulkActions {...bulk}>{exports}</BulkActions> : exports)}
      </div>
      <span className="grow" />
      <span className={styles.keys} aria-hidden="true">
        <kbd>x</kbd> select <kbd>Shift click</kbd> range
      </span>
      {isNarrow ? (
        <IconButton label="Clear" icon={X} onClick={clear} />
      ) : (
        <Button variant="ghost" onClick={clear}>
          Clear <kbd>Esc</kbd>
        </Button>
      )}
    </section>
  )
}

/** The selection in words: "3 selected", "2 of 3 selected match", "All 1,204 that match", "All that match". */
function selectionText({ isAll, count, matchCount, isChecked, error }: Selection): string {
  if (count === undefined || matchCount === undefined) return 'All that match'
  if (!isChecked)
    return `${formatCount(count)} selected, ${error ? 'could not check which match' : 'checking which match…'}`
  if (isAll) return `All ${formatCount(count)} that match`
  if (matchCount < count) return `${formatCount(matchCount)} of ${formatCount(count)} selected match`
  return `${formatCount(count)} selected`
}
