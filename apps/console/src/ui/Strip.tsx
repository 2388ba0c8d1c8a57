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

/**
 * A row of vertical marks (ticks), for devices or hours. A tall mark is connected, a short mark is disconnected, and a cap
 * shows a pending certificate.
 */
export function Strip({ label, size = 'card', bins, shares }: StripProps) {
  const drawn = bins?.map(tickOfBin) ?? shares?.map(tickOfShare) ?? []
  return (
    <div className="strip" data-size={size} role="img" aria-label={label}>
      {drawn.map(({ state, share }, index) => (
        <b
          // biome-ignore lint/suspicious/noArrayIndexKey: a mark has no identity but its position
          key={index}
          data-state={state}
          style={
            share === undefined ? undefined : ({ '--share': `${Math.round(share * 100)}%` } as CSSProperties)
          }
        />
      ))}
    </div>
  )
}

type Drawn = { state?: 'off' | 'partly' | 'pending' | 'pending-off' | 'unknown'; share?: number }

function tickOfBin({ devices, connected, pending }: Bin): Drawn {
  const share = devices === 0 ? 0 : connected / devices
  if (pending === 0) return tickOfShare(share)
  if (connected === 0) return { state: 'pending-off' }
  return { state: 'pending', ...(share < 1 && { share }) }
}

function tickOfShare(share: number | undefined): Drawn {
  if (share === undefined) return { state: 'unknown' }
  if (share <= 0) return { state: 'off' }
  return share < 1 ? { state: 'partly', share } : {}
}
