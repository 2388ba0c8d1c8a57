import { type ActionOutput, MAX_FILTER_LENGTH } from '@muster/actions/client'
import { useNavigate, useParams } from '@tanstack/react-router'
import { Blocks, Cpu, Package, Plus, Search } from 'lucide-react'
import { type KeyboardEvent, type ReactNode, useEffect, useId, useState } from 'react'
import { useActionState } from '../../api/queries.ts'
import { useDebounced } from '../../lib/app/use-debounced.ts'
import { type Organization, useCurrentOrganization } from '../../organization.ts'
import { useSession } from '../../session.ts'
import { Modal } from '../../ui/app/Dialog.tsx'
import { Mark } from '../../ui/app/Mark.tsx'
import { ErrorText } from '../../ui/ErrorText.tsx'
import { IGNORED_BY_PASSWORD_MANAGERS } from '../../ui/Field.tsx'
import type { IconType } from '../../ui/icon.ts'
import {
  ACCOUNT_PAGES,
  ADMIN_PAGES,
  INVITATIONS_PAGE,
  JOBS_PAGE,
  organizationPages,
  type PageLink,
  projectPages,
} from './pages.ts'
import '../../styles/palette.css'

type Option = {
  to: string
  /** Whether the page opens its create dialog on arrival. */
  isCreating?: boolean
  icon: IconType
  label: string
  /** Id, which distinguishes options of the same name; the search matches it too. */
  id?: string
  /** Further text that the search matches. */
  also?: string | undefined
  end?: ReactNode
}
type Group = { label: string; options: Option[] }

/**
 * Search dialog for devices, projects, repositories, pages and create actions of the organization. Arrow keys move the
 * selection, Enter opens the selected option.
 */
export function Palette({ onClose }: { onClose: () => void }) {
  const id = useId()
  const navigate = useNavigate()
  const organization = useCurrentOrganization()
  const [text, setText] = useState('')
  const [active, setActive] = useState(0)
  const [isGoing, setGoing] = useState(false)
  const pages = usePages(organization)
  const { found, isPending, error } = useFound(organization, text.trim())

  const groups = (text.trim() ? [...found, ...pages] : pages)
    .map(({ label, options }) => ({ label, options: options.filter(option => isLike(option, text)) }))
    .filter(({ options }) => options.length > 0)
  const options = groups.flatMap(group => group.options)
  const current = options[Math.min(active, options.length - 1)]
  const idOf = (option: Option) => `${id}-${options.indexOf(option)}`

  function go(option: Option | undefined) {
    if (!option) return
    onClose()
    void navigate({ to: option.to, ...(option.isCreating && { state: { isCreating: true } }) })
  }
  // If the user pressed Enter during a search, the first result opens as soon as the hub has answered.
  useEffect(() => {
    if (!isGoing || isPending) return
    setGoing(false)
    go(current)
  })
  function onKeyDown(event: KeyboardEvent) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step && current) {
      const next = (options.indexOf(current) + step + options.length) % options.length
      setActive(next)
      document.getElementById(`${id}-${next}`)?.scrollIntoView({ block: 'nearest' })
    } else if (event.key !== 'Enter') return
    else if (current) go(current)
    else setGoing(isPending)
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
          spellCheck={false}
          maxLength={MAX_FILTER_LENGTH}
          placeholder={organization ? 'A device, project, repository or page' : 'A page'}
          value={text}
          onChange={event => {
            setText(event.target.value)
            setActive(0)
            setGoing(false)
          }}
          onKeyDown={onKeyDown}
        />
        <kbd>esc</kbd>
      </div>
      <div id={`${id}-list`} className="list" role="listbox" aria-label="Jump to">
        {groups.map(({ label, options: own }) => (
          // biome-ignore lint/a11y/useSemanticElements: the listbox pattern groups its options like this
          <div key={label} role="group" aria-label={label}>
            <h3 role="presentation">{label}</h3>
            {own.map(option => (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the input handles the keys
              // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the input
              <div
                key={`${option.to} ${option.label}`}
                id={idOf(option)}
                className="opt"
                role="option"
                aria-selected={option === current}
                onMouseMove={() => setActive(options.indexOf(option))}
                onMouseDown={event => event.preventDefault()}
                onClick={() => go(option)}
              >
                <option.icon className="i" aria-hidden />
                <span className="trunc">{option.label}</span>
                {option.id && <span className="mono muted trunc">{option.id}</span>}
                <span className="end">{option.end}</span>
              </div>
            ))}
          </div>
        ))}
      </div>
      <p className="note" role="status">
        {error ? (
          <>
            Could not search. <ErrorText error={error} />
          </>
        ) : isPending && options.length === 0 ? (
          'Searching…'
        ) : (
          options.length === 0 && 'Nothing matches this text.'
        )}
      </p>
    </Modal>
  )
}

/**
 * Whether an option contains the text. Filters the hub's options again, because they may be the answer to an earlier,
 * shorter text.
 */
function isLike({ label, id = '', also = '' }: Option, text: string): boolean {
  return `${label}\n${id}\n${also}`.toLowerCase().includes(text.trim().toLowerCase())
}

function usePages(organization: Organization | undefined): Group[] {
  const { isAdmin } = useSession()
  const { projectId, organization: inPath } = useParams({ strict: false })
  const ofOrganization = organization ? organizationPages(organization.organizationId) : []
  const ofProject = projectId && inPath ? projectPages(`/org_${inPath}/projects/${projectId}`) : []
  const groups: [string, PageLink[]][] = [
    ['This project', ofProject],
    ['Organization', ofOrganization],
    ['Account', [...ACCOUNT_PAGES, INVITATIONS_PAGE]],
    ['Administration', isAdmin ? [...ADMIN_PAGES, JOBS_PAGE] : []],
  ]
  const actions = groups.flatMap(([label, options]) =>
    options.flatMap(({ to, create }) =>
      create ? [{ to, icon: Plus, label: create, isCreating: true, end: label }] : [],
    ),
  )
  return [...groups.map(([label, options]) => ({ label, options })), { label: 'Actions', options: actions }]
}

/** Search results of the hub in the organization, requested when typing pauses. */
function useFound(organization: Organization | undefined, text: string) {
  const asked = useDebounced(text, 150)
  const organizationId = organization?.organizationId ?? ''
  const isAsked = organizationId !== '' && asked !== ''
  const { data, error, isFetching } = useActionState(
    'organizations_Search',
    { organizationId, text: asked },
    { enabled: isAsked, keepPrevious: true },
  )
  return {
    found: data && isAsked ? groupsOf(organizationId, data) : [],
    isPending: isFetching || asked !== text,
    error: isAsked ? error : null,
  }
}

function groupsOf(
  organizationId: string,
  { devices, projects, repositories }: ActionOutput<'organizations_Search'>,
): Group[] {
  const base = `/${organizationId}`
  return [
    {
      label: 'Devices',
      options: devices.map(({ deviceId, name, hostname, projectId, isConnected }) => ({
        to: `${base}/projects/${projectId}/devices/${deviceId}`,
        icon: Cpu,
        label: name ?? hostname ?? 'unnamed',
        id: deviceId,
        also: hostname,
        end: <Mark state={isConnected ? 'on' : 'off'}>{isConnected ? 'Connected' : 'Disconnected'}</Mark>,
      })),
    },
    {
      label: 'Projects',
      options: projects.map(({ projectId, name }) => ({
        to: `${base}/projects/${projectId}/devices`,
        icon: Blocks,
        label: name,
        id: projectId,
      })),
    },
    {
      label: 'Repositories',
      options: repositories.map(({ repositoryId, displayName, slug }) => ({
        to: `${base}/repositories/${repositoryId}/packages`,
        icon: Package,
        label: displayName,
        id: repositoryId,
        also: slug,
      })),
    },
  ]
}
