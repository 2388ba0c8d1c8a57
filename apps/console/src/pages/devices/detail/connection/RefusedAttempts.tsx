import type { ActionOutput } from '@muster/actions/client'
import { Time, TimesTogether } from '../../../../ui/app/Time.tsx'
import shared from '../attempts.module.css'
import { cut } from '../cut.ts'
import styles from './RefusedAttempts.module.css'

/** The latest refused connections of a device with the hub's answers. Renders nothing without any. */
export function RefusedAttempts({ refusals }: Pick<ActionOutput<'devices_GetDetails'>, 'refusals'>) {
  if (refusals.length === 0) return null
  return (
    <table
      className={`table ${shared.attempts} ${styles.table}`}
      data-dense
      data-on-phones="rows"
      aria-label="Attempts to connect"
    >
      <thead>
        <tr>
          <th scope="col">Time</th>
          <th scope="col">Address</th>
          <th scope="col">Answer</th>
        </tr>
      </thead>
      <tbody>
        <TimesTogether>
          {refusals.map(({ at, address, reason }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: refusals have no id, and several can have the same time.
            <tr key={index}>
              <td className="tabular" data-k="Time">
                <Time at={at} />
              </td>
              <td className="mono" data-k="Address">
                {address}
              </td>
              <td data-k="Answer">
                <span>
                  Refused: <bdi>{cut(reason)}</bdi>
                </span>
              </td>
            </tr>
          ))}
        </TimesTogether>
      </tbody>
    </table>
  )
}
