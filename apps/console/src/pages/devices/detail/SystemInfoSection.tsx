import { useQueries, useSuspenseQueries } from '@tanstack/react-query'
import type { CSSProperties } from 'react'
import { actionQuery } from '../../../api/queries.ts'
import { formatBytes, formatPercent } from '../../../lib/app/format.ts'
import { Section } from '../../../ui/app/Section.tsx'
import { Time } from '../../../ui/app/Time.tsx'
import { SectionBoundary } from '../../../ui/lazy/SectionBoundary.tsx'
import { SYSTEM_INFO, SYSTEM_INFO_NAMES } from './property-names.ts'
import { type Disk, foundProperties, LOW_SHARE, readSystemInfo, type SystemInfo } from './well-known.ts'

const WRAP: CSSProperties = { overflowWrap: 'anywhere', whiteSpace: 'normal' }
/** Style of the name column: names such as `/dev/mmcblk0p3` stay on one line beside long mount points. */
const DISK_NAME: CSSProperties = { ...WRAP, minWidth: 'calc(15ch + 32px)' }

// Name and MAC address of an interface stay on one line beside long IP addresses.
const INTERFACE_NAME: CSSProperties = { ...WRAP, minWidth: 'calc(6ch + 32px)' }
const MAC_ADDRESS: CSSProperties = { ...WRAP, minWidth: 'calc(17ch + 24px)' }

/** System info that the agent reports, with network interfaces and disks. */
export function SystemInfoSection({ deviceId }: { deviceId: string }) {
  return (
    <Section id="sys" title="System Info" padded={false} aside={<LastReported deviceId={deviceId} />}>
      <SectionBoundary what="the system information">
        <Report deviceId={deviceId} />
      </SectionBoundary>
    </Section>
  )
}

function LastReported({ deviceId }: { deviceId: string }) {
  const answers = useQueries({
    queries: SYSTEM_INFO_NAMES.map(name => actionQuery('devices_GetProperty', { deviceId, name })),
  }).flatMap(({ data }) => data ?? [])
  const info = readSystemInfo(foundProperties(answers))
  return info && info !== 'unreadable' ? (
    <span className="muted meta">
      Reported <Time at={info.lastUpdated} />
    </span>
  ) : null
}

function Report({ deviceId }: { deviceId: string }) {
  const answers = useSuspenseQueries({
    queries: SYSTEM_INFO_NAMES.map(name => actionQuery('devices_GetProperty', { deviceId, name })),
  }).map(({ data }) => data)
  const info = readSystemInfo(foundProperties(answers))
  if (!info || info === 'unreadable') {
    return (
      <div className="in">
        <p className="muted">
          {info ? 'This property has no readable value: ' : 'No system information reported: '}
          <span className="mono">{SYSTEM_INFO}</span>
        </p>
      </div>
    )
  }
  return (
    <>
      <div className="in">
        <dl className="kv six">
          <Fact label="Hostname" value={info.hostname} mono />
          <Fact label="Name" value={info.name} />
          <Fact label="Version" value={info.version} />
          <Fact label="Kernel" value={info.kernel} mono />
          <Fact label="Architecture" value={info.arch} mono />
          <Fact
            label="Memory"
            value={info.memoryBytes === undefined ? undefined : formatBytes(info.memoryBytes)}
          />
        </dl>
      </div>
      <div className={info.networks.length > 0 && info.disks.length > 0 ? 'halves' : undefined}>
        {info.networks.length > 0 && (
          <div>
            <Networks networks={info.networks} />
          </div>
        )}
        {info.disks.length > 0 && (
          <div id="disks">
            <Disks disks={info.disks} />
          </div>
        )}
      </div>
    </>
  )
}

function Fact({ label, value, mono = false }: { label: string; value: string | undefined; mono?: boolean }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd className={mono ? 'mono' : 'num'} style={{ overflowWrap: 'anywhere' }}>
        {value ?? '–'}
      </dd>
    </div>
  )
}

function Networks({ networks }: Pick<SystemInfo, 'networks'>) {
  return (
    <table className="tbl dense rows">
      <caption className="sub">Network interfaces</caption>
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">MAC address</th>
          <th scope="col">IP addresses</th>
        </tr>
      </thead>
      <tbody>
        {networks.map(({ name, macAddress, ipAddresses }, index) => (
          // A device may report the same name twice, so the name is no key.
          // biome-ignore lint/suspicious/noArrayIndexKey: rows hold no state
          <tr key={index}>
            <td className="mono" data-k="Name" style={INTERFACE_NAME}>
              {name}
            </td>
            <td className="mono" data-k="MAC address" style={MAC_ADDRESS}>
              {macAddress ?? '–'}
            </td>
            <td className="mono" data-k="IP addresses" style={WRAP}>
              {ipAddresses.join(', ') || '–'}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function Disks({ disks }: Pick<SystemInfo, 'disks'>) {
  return (
    <table className="tbl dense rows">
      <caption className="sub">Disks</caption>
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Filesystem</th>
          <th scope="col">Mount point</th>
          <th scope="col">Total</th>
          <th scope="col">Available</th>
        </tr>
      </thead>
      <tbody>
        {disks.map((disk, index) => (
          // The same disk may be mounted twice, so its name is no key.
          // biome-ignore lint/suspicious/noArrayIndexKey: rows hold no state
          <tr key={index}>
            <td className="mono" data-k="Name" style={DISK_NAME}>
              {disk.name}
            </td>
            <td data-k="Filesystem" style={WRAP}>
              {disk.filesystem ?? '–'}
            </td>
            <td className="mono" data-k="Mount point" style={WRAP}>
              {disk.mountPoint ?? '–'}
            </td>
            <td className="num" data-k="Total">
              {disk.totalBytes === undefined ? '–' : formatBytes(disk.totalBytes)}
            </td>
            <td data-k="Available">
              <Available disk={disk} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function Available({ disk: { availableBytes, availableShare } }: { disk: Disk }) {
  if (availableBytes === undefined) return '–'
  if (availableShare === undefined) return <span className="num">{formatBytes(availableBytes)}</span>
  return (
    <span className={availableShare < LOW_SHARE ? 'bar warn' : 'bar'}>
      <i style={{ '--v': `${availableShare * 100}%` } as CSSProperties} />
      <span className="num">
        {formatBytes(availableBytes)} ({formatPercent(availableShare)})
      </span>
    </span>
  )
}
