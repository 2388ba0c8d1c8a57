import type { CSSProperties } from 'react'

/** A group of devices that `Strip` draws as one mark. `pending` is the number of devices with pending certificates. */
export type Bin = { devices: number; connected: number; pending: number }

type StripProps = {
  /** Text alternative of the picture. */
  label: string
  size?: 'card' | 'list' | 'history'
  bins?: readonly Bin[]
  /** Share of connected time (0 to 1) per mark; `undefined` for a mark without data. */
  shares?: readonly (number | undefined)[]
}

const SIZE = { card: 'strip', list: 'strip wide-ticks', history: 'strip hours' } as const

/**
 * A row of vertical marks (ticks), for devices or hours. A tall mark is connected, a short mark is disconnected, and a cap
 * shows a pending certificate.
 */
export function Strip({ label, size = 'card', bins, shares }: StripProps) {
  const drawn = bins?.map(tickOfBin) ?? shares?.map(tickOfShare) ?? []
  if (drawn.length === 0) return <div className={`${SIZE[size]} none`} role="img" aria-label={label} />
  return (
    <div className={SIZE[size]} role="img" aria-label={label}>
      {drawn.map(({ className, share }, index) => (
        <b
          // biome-ignore lint/suspicious/noArrayIndexKey: a mark has no identity but its position
          key={index}
          className={className}
          style={
            share === undefined ? undefined : ({ '--v': `${Math.round(share * 100)}%` } as CSSProperties)
          }
        />
      ))}
    </div>
  )
}

type Drawn = { className: string | undefined; share: number | undefined }

function tickOfBin({ devices, connected, pending }: Bin): Drawn {
  const share = devices === 0 ? 0 : connected / devices
  if (pending > 0) {
    if (connected === 0) return { className: 'po', share: undefined }
    return { className: 'p', share: share < 1 ? share : undefined }
  }
  return tickOfShare(share)
}

function tickOfShare(share: number | undefined): Drawn {
  if (share === undefined) return { className: 'x', share }
  if (share <= 0) return { className: 'o', share: undefined }
  return share < 1 ? { className: 's', share } : { className: undefined, share: undefined }
}
