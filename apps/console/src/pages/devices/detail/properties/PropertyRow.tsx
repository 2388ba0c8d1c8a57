import { LABELS } from '@muster/predicates'
import { Ellipsis, History, Lock, Pencil, Pin, PinOff } from 'lucide-react'
import { memo } from 'react'
import { useIsNarrow } from '../../../../lib/app/use-is-narrow.ts'
import { IconButton } from '../../../../ui/app/IconButton.tsx'
import { Menu, MenuItem } from '../../../../ui/app/Menu.tsx'
import { Time } from '../../../../ui/app/Time.tsx'
import { CopyButton } from '../../../../ui/CopyButton.tsx'
import type { IconType } from '../../../../ui/icon.ts'
import { copyTextOf, JsonValue } from '../../../../ui/lazy/JsonValue.tsx'
import { nameOf } from '../../shared/actor-name.ts'
import type { Properties } from '../well-known.ts'
import { CutValue } from './CutValue.tsx'
import { PastValues } from './PastValues.tsx'
import { PropertyEditor } from './PropertyEditor.tsx'
import styles from './properties.module.css'
import type { RowKey } from './use-row-shortcuts.ts'

/** Open part of a property's row: its past values or its editor. */
export type Opened = 'past' | 'edit'

type PropertyRowProps = {
  deviceId: string
  property: Properties[string]
  /** Actor of the last change; `undefined` while it loads, or if the history does not contain it. */
  changedBy: Properties[string]['changedBy']
  /** Words that the project shows for a property that is pinned for everyone; undefined for any other property. */
  label?: string | undefined
  isPinned: boolean
  /** Pins or unpins the property. This function and `onOpen` must not change between renders, because a change would render all rows. */
  onPin: (name: string) => void
  opened: Opened | undefined
  /** Key of the row for `onOpen`. A pinned property has two rows. */
  rowKey: string
  onOpen: (rowKey: string, opened: Opened | undefined) => void
}

/**
 * Row of a property: key, value, actor and time of the last change, with buttons to edit it, to show its past values, to pin and to copy it.
 * On phones all but the last are in a menu.
 */
export const PropertyRow = memo(function PropertyRow({
  deviceId,
  property,
  changedBy,
  label,
  isPinned,
  onPin,
  opened,
  rowKey,
  onOpen,
}: PropertyRowProps) {
  const { name, value, protected: isProtected, lastUpdated, isCut = false, valueBytes = 0 } = property
  const isNarrow = useIsNarrow()
  const isLabels = name === LABELS
  const edit = () => onOpen(rowKey, 'edit')
  const togglePast = () => onOpen(rowKey, opened === 'past' ? undefined : 'past')
  const PinIcon = isPinned ? PinOff : Pin
  if (opened === 'edit')
    return (
      <PropertyEditor
        deviceId={deviceId}
        property={{ ...property, changedBy }}
        onClose={() => onOpen(rowKey, undefined)}
      />
    )
  return (
    <>
      <span className={styles.key}>
        {isProtected && <Lock className="icon" aria-hidden />}
        <span>
          {label !== undefined && (
            <>
              <b>
                <bdi>{label}</bdi>
              </b>
              <br />
            </>
          )}
          <bdi>{name}</bdi>
          {isProtected && <span className="muted"> protected</span>}
        </span>
      </span>
      <div className={styles.value}>
        {isCut ? (
          <CutValue deviceId={deviceId} name={name} start={String(value)} sizeBytes={valueBytes} />
        ) : (
          <JsonValue value={value} />
        )}
        {isLabels && (
          <p className="muted">Only people set labels. They are edited at the top of this page.</p>
        )}
      </div>
      <span className={`truncated ${styles.by}`} title={changedBy && nameOf(changedBy)}>
        <bdi>{changedBy ? nameOf(changedBy) : ''}</bdi>
      </span>
      <span className={`muted ${styles.time}`}>
        <Time at={lastUpdated} />
      </span>
      <span className={styles.actions}>
        {isNarrow ? (
          <Menu align="end" trigger={<IconButton label={`Actions for ${name}`} icon={Ellipsis} size="sm" />}>
            {!isLabels && (
              <MenuItem icon={Pencil} onSelect={edit}>
                Edit
              </MenuItem>
            )}
            <MenuItem icon={History} onSelect={togglePast}>
              {opened === 'past' ? 'Close past values' : 'Past values'}
            </MenuItem>
            <MenuItem icon={PinIcon} onSelect={() => onPin(name)}>
              {isPinned ? 'Unpin' : 'Pin'}
            </MenuItem>
          </Menu>
        ) : (
          <>
            {!isLabels && <RowButton keys="e" label={`Edit ${name}`} icon={Pencil} onClick={edit} />}
            <RowButton
              keys="h"
              label={`Past values of ${name}`}
              icon={History}
              isOpen={opened === 'past'}
              onClick={togglePast}
            />
            <RowButton
              keys="p"
              label={`${isPinned ? 'Unpin' : 'Pin'} ${name}`}
              icon={PinIcon}
              isPressed={isPinned}
              onClick={() => onPin(name)}
            />
          </>
        )}
        {!isCut && <CopyButton text={copyTextOf(value)} label={`Copy value of ${name}`} />}
      </span>
      {opened === 'past' && <PastValues deviceId={deviceId} name={name} version={property.version} />}
    </>
  )
})

/** Row of a property that was removed while its past values were open. The past values stay on screen until the user closes them. */
export function RemovedRow({
  deviceId,
  name,
  onClose,
}: {
  deviceId: string
  name: string
  onClose: () => void
}) {
  return (
    <>
      <span className={styles.key}>
        <bdi>{name}</bdi>
      </span>
      <div className={`muted ${styles.value}`}>Removed</div>
      <span className={`truncated ${styles.by}`} />
      <span className={`muted ${styles.time}`} />
      <span className={styles.actions}>
        <RowButton keys="h" label={`Past values of ${name}`} icon={History} isOpen onClick={onClose} />
      </span>
      <PastValues deviceId={deviceId} name={name} version={undefined} />
    </>
  )
}

type RowButtonProps = {
  /** Shortcut key that clicks this button while its row has the focus. */
  keys: RowKey
  label: string
  icon: IconType
  isOpen?: boolean
  isPressed?: boolean
  onClick: () => void
}

function RowButton({ keys, label, icon: Icon, isOpen, isPressed, onClick }: RowButtonProps) {
  return (
    <button
      type="button"
      className="copy"
      aria-label={label}
      data-tip={label}
      data-key={keys}
      onClick={onClick}
      {...(isOpen !== undefined && { 'aria-expanded': isOpen })}
      {...(isPressed && { 'data-on': '' })}
    >
      <Icon className="icon small-icon" aria-hidden />
    </button>
  )
}
