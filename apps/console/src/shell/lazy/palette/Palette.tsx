import { MAX_FILTER_LENGTH } from '@muster/actions/client'
import { useRouter } from '@tanstack/react-router'
import { CornerDownLeft, Search, X } from 'lucide-react'
import { type KeyboardEvent, type MouseEvent, useEffect, useId, useState } from 'react'
import { COMMAND_KEY } from '../../../lib/app/command-key.ts'
import { copyText } from '../../../lib/clipboard.ts'
import { useCurrentOrganization } from '../../../organization.ts'
import { Modal } from '../../../ui/app/Dialog.tsx'
import { ErrorText } from '../../../ui/ErrorText.tsx'
import { IGNORED_BY_PASSWORD_MANAGERS } from '../../../ui/Field.tsx'
import { matching, type Option } from './option.ts'
import { useFound } from './use-found.tsx'
import { useRecent, useThisPage } from './use-here.tsx'
import { usePages } from './use-pages.ts'
import { useSessionOptions } from './use-session-options.tsx'
import '../../../styles/palette.css'

/**
 * Search dialog for devices, projects, repositories, pages and actions of the organization, the page and the session. Arrow keys
 * move the selection, Enter opens it, with Ctrl or ⌘ in a new tab. Ctrl C or ⌘ C copies the id of the selection.
 */
export function Palette({ onClose }: { onClose: () => void }) {
  const id = useId()
  const router = useRouter()
  const organization = useCurrentOrganization()
  const [text, setText] = useState('')
  const [active, setActive] = useState(0)
  const [isGoing, setGoing] = useState(false)
  const [said, setSaid] = useState<string>()
  const searched = text.trim()
  const { pages, actions } = usePages(organization)
  const thisPage = useThisPage(copyId)
  const recent = useRecent()
  const session = useSessionOptions()
  const found = useFound(organization, searched, copyId)

  // While a text is searched, the create actions stand under "Actions" with their page, and not again under "This page".
  const created = new Set(actions.options.map(({ label }) => label))
  const others = { ...thisPage, options: thisPage.options.filter(({ label }) => !created.has(label)) }
  const groups = matching(
    searched ? [...found.groups, ...pages, actions, others, session] : [thisPage, recent, session, ...pages],
    searched,
  )
  const options = groups.flatMap(group => group.options)
  const current = options[Math.min(active, options.length - 1)]
  const idOf = (option: Option) => `${id}-${options.indexOf(option)}`

  async function copyId(copied: string) {
    setSaid((await copyText(copied)) ? `${copied} copied.` : 'The browser refused to copy.')
  }
  function go(option: Option | undefined, inNewTab = false) {
    if (!option) return
    if (option.key === 'copy') return void option.run?.()
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
    go(current)
  })
  function move(to: number) {
    const next = (to + options.length) % options.length
    setActive(next)
    document.getElementById(`${id}-${next}`)?.scrollIntoView({ block: 'nearest' })
  }
  function onKeyDown(event: KeyboardEvent<HTMLInputElement>) {
    const isModified = event.ctrlKey || event.metaKey
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step && current) move(options.indexOf(current) + step)
    else if (isModified && event.key.toLowerCase() === 'c') {
      const { selectionStart, selectionEnd } = event.currentTarget
      if (!current?.id || selectionStart !== selectionEnd) return
      void copyId(current.id)
    } else if (event.key !== 'Enter' || event.nativeEvent.isComposing) return
    // Results of an earlier, shorter text stay on screen during a search. Enter does not open the first of them.
    else if (found.isPending && searched && active === 0 && (!current || current.isFound)) setGoing(true)
    else go(current, isModified)
    event.preventDefault()
  }

  return (
    <Modal className="dialog palette" label="Jump to" onAsk={onClose}>
      <div className="q">
        <Search className="i" aria-hidden />
        <input
          {...IGNORED_BY_PASSWORD_MANAGERS}
          role="combobox"
          aria-label="Jump to"
          aria-autocomplete="list"
          aria-expanded
          aria-controls={`${id}-list`}
          {...(current && { 'aria-activedescendant': idOf(current) })}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          enterKeyHint="go"
          maxLength={MAX_FILTER_LENGTH}
          placeholder={
            organization ? 'A device by name, host name, IP, MAC or id; an action; a page' : 'A page'
          }
          value={text}
          onChange={event => {
            setText(event.target.value)
            setActive(0)
            setGoing(false)
            setSaid(undefined)
          }}
          onKeyDown={onKeyDown}
        />
        <button type="button" className="esc" aria-label="Close" tabIndex={-1} onClick={onClose}>
          <kbd>esc</kbd>
          <X className="i" aria-hidden />
        </button>
      </div>
      <div id={`${id}-list`} className="list" role="listbox" aria-label="Jump to">
        {groups.map(({ label, aside, options: own }) => (
          // biome-ignore lint/a11y/useSemanticElements: the listbox pattern groups its options like this
          <div key={label} role="group" aria-label={label}>
            <h3 role="presentation">
              {label}
              {aside && <span>{aside}</span>}
            </h3>
            {own.map(option => (
              <OptionRow
                key={option.key}
                id={idOf(option)}
                option={option}
                isActive={option === current}
                onPoint={() => setActive(options.indexOf(option))}
                onClick={event => go(option, event.ctrlKey || event.metaKey)}
              />
            ))}
          </div>
        ))}
      </div>
      <p className="note" role="status">
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
      <div className="bot" aria-hidden>
        <span>
          <kbd>↑</kbd>
          <kbd>↓</kbd>move
        </span>
        <span>
          <kbd>
            <CornerDownLeft className="i" />
          </kbd>
          open
        </span>
        <span>
          <kbd>{COMMAND_KEY}</kbd>
          <kbd>
            <CornerDownLeft className="i" />
          </kbd>
          new tab
        </span>
        <span>
          <kbd>{COMMAND_KEY}</kbd>
          <kbd>C</kbd>copy id
        </span>
        {searched && found.ms !== undefined && <span className="r">{found.ms} ms</span>}
      </div>
    </Modal>
  )
}

type OptionRowProps = {
  id: string
  option: Option
  isActive: boolean
  onPoint: () => void
  onClick: (event: MouseEvent) => void
}

function OptionRow({ id, option, isActive, onPoint, onClick }: OptionRowProps) {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the input handles the keys
    // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the input
    <div
      id={id}
      className="opt"
      role="option"
      aria-selected={isActive}
      onMouseMove={onPoint}
      onMouseDown={event => event.preventDefault()}
      onClick={onClick}
    >
      <option.icon className="i" aria-hidden />
      <span className="lb">{option.shown ?? option.label}</span>
      {option.hit && <span className="hit">{option.hit}</span>}
      {option.end && <span className="end">{option.end}</span>}
    </div>
  )
}
