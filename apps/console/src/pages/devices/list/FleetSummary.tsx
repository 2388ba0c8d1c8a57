import type { ActionOutput } from '@muster/actions/client'
import { Link } from '@tanstack/react-router'
import { useLayoutEffect, useRef, useState } from 'react'
import { counted, formatCount } from '../../../lib/app/format.ts'
import { useIsNarrow } from '../../../lib/app/use-is-narrow.ts'
import { CutMiddle } from '../../../ui/app/CutMiddle.tsx'
import { Mark } from '../../../ui/app/Mark.tsx'
import { Time } from '../../../ui/app/Time.tsx'
import { type Bin, Strip } from '../../../ui/Strip.tsx'
import { DeviceName } from '../shared/DeviceName.tsx'
import { deviceNameText } from '../shared/device-name.ts'
import styles from './FleetSummary.module.css'

type Summary = ActionOutput<'projects_GetSummary'>

const DEVICES = '/org_{$organization}/projects/$projectId/devices'

/** Width in pixels of one mark in the row of marks for devices, with the gap beside it, as in FleetSummary.module.css. */
const TICK_PX = 9
const NARROW_TICK_PX = 7

/** Summary of a project's devices: number of connected devices, number with pending certificates, newest device. */
export function FleetSummary({ summary }: { summary: Summary }) {
  const {
    deviceCount,
    connectedCount,
    pendingCount,
    warningCount = 0,
    errorCount = 0,
    newestDevice,
  } = summary
  const newestName = deviceNameText(newestDevice ?? {})
  const pendingWords = pendingCount > 0 ? `, ${formatCount(pendingCount)} with pending certificates` : ''
  return (
    <section className={`sheet ${styles.fleet}`} aria-label="Fleet">
      <div className={styles.connected}>
        <div>
          <div className="row help">
            <Mark state="on" />
            Connected
          </div>
          <div className={`figure ${styles.value}`}>
            {formatCount(connectedCount)} <small>of {formatCount(deviceCount)}</small>
          </div>
          {errorCount + warningCount > 0 && (
            <div className={styles.unwell}>
              {errorCount > 0 && <Mark state="error">{counted(errorCount, 'error')}</Mark>}
              {warningCount > 0 && <Mark state="warning">{counted(warningCount, 'warning')}</Mark>}
            </div>
          )}
        </div>
        <FittingStrip
          bins={summary.bins}
          label={`${formatCount(connectedCount)} of ${formatCount(deviceCount)} devices connected${pendingWords}`}
        />
      </div>
      <div>
        <div className="row help">
          <Mark state="pending" />
          Pending certificates
        </div>
        <div className={`figure ${styles.value}`}>
          {formatCount(pendingCount)}
          {pendingCount > 0 && (
            <Link from={DEVICES} to="./pending">
              Review<span className="visually-hidden"> pending certificates</span>
            </Link>
          )}
        </div>
      </div>
      <div>
        <div className="row help">Newest device</div>
        {newestDevice && (
          <div className={`figure ${styles.newest}`}>
            <Link
              from="/org_{$organization}/projects/$projectId/devices"
              to="./$deviceId"
              params={{ deviceId: newestDevice.deviceId }}
              title={newestName}
              aria-label={newestDevice.name}
            >
              {newestDevice.name === undefined ? (
                <DeviceName {...newestDevice} />
              ) : (
                <CutMiddle text={newestDevice.name} />
              )}
            </Link>
            <small>
              <Time at={newestDevice.firstSeen} />
            </small>
          </div>
        )}
      </div>
    </section>
  )
}

/** A row of marks for groups of devices (`bins`). If there are more bins than marks fit into the width, bins are merged. */
function FittingStrip({ bins, label }: { bins: readonly Bin[]; label: string }) {
  const box = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(0)
  const isNarrow = useIsNarrow()
  useLayoutEffect(() => {
    if (!box.current) return
    setWidth(box.current.clientWidth)
    const observer = new ResizeObserver(([entry]) => setWidth(entry!.contentRect.width))
    observer.observe(box.current)
    return () => observer.disconnect()
  }, [])
  const room = Math.max(1, Math.floor(width / (isNarrow ? NARROW_TICK_PX : TICK_PX)))
  return (
    <div ref={box} className={styles.ticks}>
      <Strip size="list" bins={mergeBins(bins, room)} label={label} />
    </div>
  )
}

function mergeBins(bins: readonly Bin[], room: number): Bin[] {
  const size = Math.ceil(bins.length / room)
  return Array.from({ length: Math.ceil(bins.length / size) || 0 }, (_, index) =>
    bins.slice(index * size, (index + 1) * size).reduce((sum, bin) => ({
      devices: sum.devices + bin.devices,
      connected: sum.connected + bin.connected,
      pending: sum.pending + bin.pending,
    })),
  )
}
