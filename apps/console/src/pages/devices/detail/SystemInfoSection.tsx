import { useQueries, useSuspenseQueries } from '@tanstack/react-query'
import type { CSSProperties } from 'react'
import { actionQuery } from '../../../api/queries.ts'
import { formatBytes, formatPercent } from '../../../lib/app/format.ts'
import { Section } from '../../../ui/app/Section.tsx'
import { Time } from '../../../ui/app/Time.tsx'
import { Fact, FactList } from '../../../ui/lazy/FactList.tsx'
import { SectionBoundary } from '../../../ui/lazy/SectionBoundary.tsx'
import { UsedBar } from '../../../ui/lazy/UsedBar.tsx'
import { SYSTEM_INFO, SYSTEM_INFO_NAMES } from './property-names.ts'
import styles from './SystemInfoSection.module.css'
import shared from './sections.module.css'
import { type Disk, foundProperties, readSystemInfo, type SystemInfo } from './well-known.ts'

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
    <span className="muted">
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
      <div className="inset">
        <p className="muted">
          {info ? 'This property has no readable value: ' : 'No system information reported: '}
          <span className="mono">{SYSTEM_INFO}</span>
        </p>
      </div>
    )
  }
  return (
    <>
      <div className="inset">
        <FactList columns={6}>
          <Fact label="Hostname" mono>
            {info.hostname ?? '–'}
          </Fact>
          <Fact label="Name">{info.name ?? '–'}</Fact>
          <Fact label="Version">{info.version ?? '–'}</Fact>
          <Fact label="Kernel" mono>
            {info.kernel ?? '–'}
          </Fact>
          <Fact label="Architecture" mono>
            {info.arch ?? '–'}
          </Fact>
          <Fact label="Memory">{info.memoryBytes === undefined ? '–' : formatBytes(info.memoryBytes)}</Fact>
        </FactList>
      </div>
      <div className={info.networks.length > 0 && info.disks.length > 0 ? styles.tables : undefined}>
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

function Networks({ networks }: Pick<SystemInfo, 'networks'>) {
  return (
    <table className="table" data-dense data-on-phones="rows">
      <caption className={shared.caption}>Network interfaces</caption>
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
    <table className="table" data-dense data-on-phones="rows">
      <caption className={shared.caption}>Disks</caption>
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
            <td className="tabular" data-k="Total">
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
  if (availableShare === undefined) return <span className="tabular">{formatBytes(availableBytes)}</span>
  return (
    <UsedBar freeShare={availableShare}>
      {formatBytes(availableBytes)} ({formatPercent(availableShare)})
    </UsedBar>
  )
}
