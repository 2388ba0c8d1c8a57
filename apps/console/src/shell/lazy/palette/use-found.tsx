import type { ActionOutput } from '@muster/actions/client'
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { ArrowLeftRight, Blocks, Copy, Cpu, Package, Search, TextAlignStart } from 'lucide-react'
import { invoke } from '../../../api/client.ts'
import { useActionState } from '../../../api/queries.ts'
import { counted } from '../../../lib/app/format.ts'
import { openIssued } from '../../../lib/app/open-window.ts'
import { useDebounced } from '../../../lib/app/use-debounced.ts'
import type { Organization } from '../../../organization.ts'
import { FoundText, fieldWord } from '../../../pages/devices/shared/FoundText.tsx'
import { PROXY_LINK_HOURS } from '../../../pages/devices/shared/proxy-link-hours.ts'
import { toastError } from '../../../ui/app/toast.ts'
import { DeviceState } from './DeviceState.tsx'
import type { Option, OptionGroup } from './option.ts'

type Answer = ActionOutput<'organizations_Search'>
type FoundDevice = Answer['devices'][number]

/** Time, in milliseconds, after the last key press before the hub is asked. */
const PAUSE_MS = 150

/** Search results of the hub in the organization, requested when typing pauses. The last results stay while the next ones load. */
export function useFound(organization: Organization | undefined, text: string, copy: (id: string) => void) {
  const asked = useDebounced(text, PAUSE_MS)
  const organizationId = organization?.organizationId ?? ''
  const isAsked = organizationId !== '' && asked !== ''
  const { projectId } = useParams({ strict: false })
  const project = useActionState(
    'projects_GetDetails',
    { projectId: projectId ?? '' },
    { enabled: projectId !== undefined },
  ).data
  const { data, error, isFetching } = useQuery({
    queryKey: ['organizations_Search', { organizationId, text: asked }, 'timed'],
    queryFn: async ({ signal }) => {
      const startedAt = performance.now()
      const found = await invoke('organizations_Search', { organizationId, text: asked }, { signal })
      return { found, ms: Math.round(performance.now() - startedAt) }
    },
    enabled: isAsked,
    staleTime: 10_000,
    placeholderData: previous => previous,
  })
  const answer = isAsked ? data : undefined
  const place = { organizationId, name: organization?.name ?? '', projectId, projectName: project?.name }
  return {
    groups: answer ? groupsOf(answer.found, text, place, copy) : [],
    ms: answer?.ms,
    isPending: isFetching || asked !== text,
    error: isAsked ? error : null,
  }
}

type Place = {
  organizationId: string
  name: string
  projectId: string | undefined
  projectName: string | undefined
}

function groupsOf(
  { devices, projects, repositories, hasMoreDevices, isCut }: Answer,
  text: string,
  place: Place,
  copy: (id: string) => void,
): OptionGroup[] {
  const base = `/${place.organizationId}`
  const [first] = devices
  const alone = devices.length === 1 && !hasMoreDevices ? first : undefined
  const list = place.projectId && `${base}/projects/${place.projectId}/devices`
  const all: Option[] =
    list && hasMoreDevices && !isAddress(first)
      ? [
          {
            key: 'all',
            icon: Search,
            label: `All devices with “${text}”`,
            to: list,
            search: { q: text },
            isFound: true,
            end: place.projectName,
          },
        ]
      : []
  return [
    {
      label: 'Devices',
      aside: `${hasMoreDevices ? `First ${devices.length}` : devices.length} in ${place.name}${isCut ? ', stopped after 2 s' : ''}`,
      options: [...devices.map(device => deviceOption(base, device)), ...all],
    },
    {
      label: 'Projects',
      options: projects.map(({ projectId, name }) => ({
        key: projectId,
        id: projectId,
        also: projectId,
        to: `${base}/projects/${projectId}/devices`,
        icon: Blocks,
        label: name,
        hit: projectId,
      })),
    },
    {
      label: 'Repositories',
      options: repositories.map(({ repositoryId, displayName, slug }) => ({
        key: repositoryId,
        id: repositoryId,
        also: `${repositoryId}\n${slug}`,
        to: `${base}/repositories/${repositoryId}/packages`,
        icon: Package,
        label: displayName,
        hit: repositoryId,
      })),
    },
    ...(alone ? [foundFor(optionsOfDevice(base, alone, copy))] : []),
    ...(list && isAddress(first) ? [addressOptions(first, list, text, place)] : []),
  ]
}

function isAddress(device: FoundDevice | undefined): device is FoundDevice {
  return device?.match.field === 'ip' || device?.match.field === 'mac'
}

function deviceOption(base: string, device: FoundDevice): Option {
  const { deviceId, name, hostname, projectId, match } = device
  const word = fieldWord(match)
  const label = name ?? hostname ?? 'unnamed'
  // A device without a name is shown with its host name, which may be the found field.
  const isLabel = match.value === label
  return {
    key: deviceId,
    id: deviceId,
    isFound: true,
    to: `${base}/projects/${projectId}/devices/${deviceId}`,
    icon: Cpu,
    label,
    shown: isLabel ? <FoundText {...match} /> : label,
    hit: (
      <>
        {!isLabel && word && <em>{word}</em>}
        {isLabel ? deviceId : <FoundText {...match} />}
        {match.interface !== undefined && `, ${match.interface}`}
      </>
    ),
    end: <DeviceState {...device} />,
  }
}

/** Marks all options of a group as found, so that they are shown whatever their labels are. */
function foundFor(group: OptionGroup): OptionGroup {
  return { ...group, options: group.options.map(option => ({ ...option, isFound: true })) }
}

/** Actions on a device. */
export function optionsOfDevice(
  base: string,
  { projectId, deviceId, name, hostname }: Pick<FoundDevice, 'projectId' | 'deviceId' | 'name' | 'hostname'>,
  copy: (id: string) => void,
): OptionGroup {
  const label = name ?? hostname ?? deviceId
  return {
    label,
    options: [
      {
        key: `proxy ${deviceId}`,
        icon: ArrowLeftRight,
        label: 'Open the HTTP proxy',
        end: counted(PROXY_LINK_HOURS, 'hour'),
        run: () => void openProxy(deviceId),
      },
      {
        key: `copy ${deviceId}`,
        icon: Copy,
        label: 'Copy the device id',
        hit: deviceId,
        run: () => copy(deviceId),
        staysOpen: true,
      },
      {
        key: `log ${deviceId}`,
        icon: TextAlignStart,
        label: `Everything about ${label} in the audit log`,
        to: `${base}/projects/${projectId}/devices/${deviceId}/log`,
      },
    ],
  }
}

async function openProxy(deviceId: string) {
  try {
    await openIssued(() =>
      invoke('devices_IssueHttpProxyToken', { deviceId, validForSecs: PROXY_LINK_HOURS * 3600 }),
    )
  } catch (error) {
    toastError("Could not open the device's pages", error)
  }
}

/** Options for an address that was found: the project's device list filtered by this address, and its log filtered by the typed text. */
function addressOptions(
  { match }: FoundDevice,
  to: string,
  text: string,
  { projectName }: Place,
): OptionGroup {
  const part = match.value.slice(match.start, match.end)
  const kind = match.field === 'ip' ? 'IP address' : 'MAC address'
  return {
    label: 'Actions',
    options: [
      {
        key: 'filter',
        icon: Search,
        label: `Filter devices by ${kind} ${part}`,
        isFound: true,
        to,
        search: { address: part },
        end: projectName,
      },
      {
        key: 'find in log',
        icon: TextAlignStart,
        label: `Find ${text} in the audit log`,
        isFound: true,
        to: to.replace(/devices$/, 'log'),
        search: { q: text },
        end: projectName,
      },
    ],
  }
}
