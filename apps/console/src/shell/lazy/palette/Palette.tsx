import { Autocomplete } from '@base-ui/react/autocomplete'
import { MAX_FILTER_LENGTH } from '@muster/actions/client'
import { useRouter } from '@tanstack/react-router'
import { CornerDownLeft, Search, X } from 'lucide-react'
import { type ComponentProps, type MouseEvent, useEffect, useRef, useState } from 'react'
import { COMMAND_KEY } from '../../../lib/app/command-key.ts'
import { copyText } from '../../../lib/clipboard.ts'
import { useCurrentOrganization } from '../../../organization.ts'
import { Modal } from '../../../ui/app/Dialog.tsx'
import { ErrorText } from '../../../ui/ErrorText.tsx'
import { IGNORED_BY_PASSWORD_MANAGERS } from '../../../ui/Field.tsx'
import { matching, type Option } from './option.ts'
import styles from './Palette.module.css'
import { useFound } from './use-found.tsx'
import { useRecent, useThisPage } from './use-here.tsx'
import { usePages } from './use-pages.ts'
import { useSessionOptions } from './use-session-options.tsx'
import { useViews } from './use-views.ts'

type InputKeyDown = Parameters<NonNullable<ComponentProps<typeof Autocomplete.Input>['onKeyDown']>>[0]

/**
 * Search dialog. It finds devices, projects and repositories of the organization, pages, and actions on the current page and the session.
 * Arrow keys move the selection. Enter opens the selected option, with Ctrl or ⌘ in a new tab. Ctrl C or ⌘ C copies its id.
 */
export function Palette({ onClose }: { onClose: () => void }) {
  const router = useRouter()
  const organization = useCurrentOrganization()
  const [text, setText] = useState('')
  const highlighted = useRef<Option>(undefined)
  const [isGoing, setGoing] = useState(false)
  const [said, setSaid] = useState<string>()
  const searched = text.trim()
  const copy = (copied: string) => void copyId(copied)
  const { pages, actions } = usePages(organization)
  const thisPage = useThisPage(copy, searched !== '')
  const recent = useRecent()
  const views = useViews()
  const session = useSessionOptions()
  const found = useFound(organization, searched, copy)

  // During a search, the group "Actions" has the create actions of all pages. "This page" then omits its own, which would be duplicates.
  const created = new Set(actions.options.map(({ label }) => label))
  const others = { ...thisPage, options: thisPage.options.filter(({ label }) => !created.has(label)) }
  const groups = matching(
    searched
      ? [...found.groups, views, ...pages, actions, others, session]
      : [thisPage, views, recent, session, ...pages],
    searched,
  )
  const options = groups.flatMap(group => group.options)
  async function copyId(copied: string) {
    setSaid((await copyText(copied)) ? `${copied} copied.` : 'The browser refused to copy.')
  }
  function type(typed: string) {
    setText(typed)
    setGoing(false)
    setSaid(undefined)
  }
  function go(option: Option | undefined, inNewTab = false) {
    if (!option) return
    if (option.staysOpen) return void option.run?.()
    if (option.to !== undefined) {
      const target = { to: option.to, ...(option.search && { search: option.search }) }
      if (inNewTab) return void window.open(router.buildLocation(target as never).href, '_blank', 'noopener')
      onClose()
      void router.navigate({ ...target, ...(option.isCreating && { state: { isCreating: true } }) } as never)
    } else {
      onClose()
      option.run?.()
    }
  }
  // If the user pressed Enter during a search, the first result opens as soon as the hub has answered.
  useEffect(() => {
    if (!isGoing || found.isPending) return
    setGoing(false)
    go(options[0])
  })
  function onKeyDown(event: InputKeyDown) {
    const isModified = event.ctrlKey || event.metaKey
    // `highlighted` may hold an option of an earlier render, so the current one is looked up by its key.
    const current = options.find(({ key }) => key === highlighted.current?.key)
    if (isModified && event.key.toLowerCase() === 'c') {
      const { selectionStart, selectionEnd } = event.currentTarget
      if (!current?.id || selectionStart !== selectionEnd) return
      copy(current.id)
    } else if (event.key === 'Enter') {
      // Results of an earlier, shorter text stay on screen during a search. Enter does not open the first of them but waits for the hub.
      const isEarly =
        found.isPending && searched !== '' && (!current || (current === options[0] && current.isFound))
      if (isEarly) setGoing(true)
      else go(current, isModified)
      event.preventBaseUIHandler()
    } else if (event.key === 'Escape') {
      // The autocomplete library must not handle the key. Escape clears the text first; without a text it closes the dialog (`Modal`).
      event.preventBaseUIHandler()
      if (text === '') return
      event.stopPropagation()
      type('')
    } else return
    event.preventDefault()
  }

  return (
    <Modal className={styles.palette} label="Jump to" onAsk={onClose}>
      <Autocomplete.Root
        inline
        items={groups.map(({ label, options: items }) => ({ label, items }))}
        filter={null}
        autoHighlight="always"
        keepHighlight
        itemToStringValue={option => option.label}
        value={text}
        onValueChange={(typed, { reason }) => reason === 'input-change' && type(typed)}
        onItemHighlighted={option => {
          highlighted.current = option
        }}
      >
        <div className={`row ${styles.search}`} data-body>
          <Search className="icon" aria-hidden />
          <Autocomplete.Input
            {...IGNORED_BY_PASSWORD_MANAGERS}
            aria-label="Jump to"
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
            enterKeyHint="go"
            maxLength={MAX_FILTER_LENGTH}
            placeholder={
              organization ? 'A device by name, host name, IP, MAC or id; an action; a page' : 'A page'
            }
            onKeyDown={onKeyDown}
          />
          <button type="button" aria-label="Close" tabIndex={-1} onClick={onClose}>
            <kbd>esc</kbd>
            <X className="icon" aria-hidden />
          </button>
        </div>
        <Autocomplete.List className={styles.list} aria-label="Jump to">
          {groups.map(({ label, aside, options: own }) => (
            <Autocomplete.Group key={label} items={own} aria-label={label}>
              <h3 role="presentation">
                {label}
                {aside && <span className="truncated">{aside}</span>}
              </h3>
              {own.map(option => (
                <OptionRow
                  key={option.key}
                  option={option}
                  onClick={event => go(option, event.ctrlKey || event.metaKey)}
                />
              ))}
            </Autocomplete.Group>
          ))}
        </Autocomplete.List>
      </Autocomplete.Root>
      <p className={styles.note} role="status">
        {said ??
          (found.error ? (
            <>
              Could not search. <ErrorText error={found.error} />
            </>
          ) : found.isPending && options.length === 0 ? (
            'Searching…'
          ) : (
            options.length === 0 && 'Nothing matches this text.'
          ))}
      </p>
      <div className={`row ${styles.foot}`} aria-hidden>
        <span>
          <kbd>↑</kbd>
          <kbd>↓</kbd>move
        </span>
        <span>
          <kbd>
            <CornerDownLeft className="icon" />
          </kbd>
          open
        </span>
        <span>
          <kbd>{COMMAND_KEY}</kbd>
          <kbd>
            <CornerDownLeft className="icon" />
          </kbd>
          new tab
        </span>
        <span>
          <kbd>{COMMAND_KEY}</kbd>
          <kbd>C</kbd>copy id
        </span>
        {searched && found.ms !== undefined && <span className={styles.time}>{found.ms} ms</span>}
      </div>
    </Modal>
  )
}

type OptionRowProps = { option: Option; onClick: (event: MouseEvent) => void }

function OptionRow({ option, onClick }: OptionRowProps) {
  return (
    <Autocomplete.Item
      value={option}
      onClick={onClick}
      render={(props, { highlighted }) => (
        // biome-ignore lint/a11y/useAriaPropsSupportedByRole: the library's properties contain the role
        <div {...props} className={`row ${styles.option}`} aria-selected={highlighted} />
      )}
    >
      <option.icon className="icon" aria-hidden />
      <span className={`truncated ${styles.label}`}>{option.shown ?? option.label}</span>
      {option.hit && <span className={`truncated ${styles.hit}`}>{option.hit}</span>}
      {option.end && <span className={`row ${styles.end}`}>{option.end}</span>}
    </Autocomplete.Item>
  )
}
