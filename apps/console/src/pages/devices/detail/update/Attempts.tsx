import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { actionQuery } from '../../../../api/queries.ts'
import { counted, formatCount } from '../../../../lib/app/format.ts'
import { Time, TimesTogether } from '../../../../ui/app/Time.tsx'
import { Button } from '../../../../ui/Button.tsx'
import { LongText } from '../../../../ui/lazy/JsonValue.tsx'
import attempt from '../attempts.module.css'
import { updateEntries } from '../connection/lanes.ts'
import { pastValuesInput } from '../device-queries.ts'
import { OTA_STATUS } from '../property-names.ts'
import shared from '../sections.module.css'
import { updateChangeOf, updateDuration } from '../timeline/update-change.ts'

/** Number of attempts that are shown at first. */
const SHOWN_AT_FIRST = 3

type AttemptsProps = { deviceId: string; targetVersion: string }

/** Failed attempts at the target version, latest first, from the history of the update status. */
export function Attempts({ deviceId, targetVersion }: AttemptsProps) {
  const [isWhole, setWhole] = useState(false)
  const { data } = useQuery(
    actionQuery('devices_QueryPropertyHistory', pastValuesInput(deviceId, OTA_STATUS)),
  )
  const attempts = updateEntries(OTA_STATUS, data?.changes ?? []).flatMap(entry => {
    const change = updateChangeOf(entry)
    return change?.what === 'failed' && change.version === targetVersion ? [{ entry, change }] : []
  })
  if (attempts.length === 0) return null
  const shown = isWhole ? attempts : attempts.slice(0, SHOWN_AT_FIRST)
  return (
    <>
      <table className={`table ${attempt.attempts}`} data-dense data-on-phones="rows">
        <caption className={shared.caption}>
          Attempts at <bdi>{targetVersion}</bdi>
        </caption>
        <thead>
          <tr>
            <th scope="col">Attempt</th>
            <th scope="col">Started</th>
            <th scope="col">Failed after</th>
            <th scope="col">Error</th>
          </tr>
        </thead>
        <tbody>
          <TimesTogether>
            {shown.map(({ entry, change }, index) => (
              <tr key={entry.entryId}>
                <td className="tabular" data-k="Attempt">
                  {formatCount(change.attempt ?? attempts.length - index)}
                </td>
                <td className="tabular" data-k="Started">
                  {change.startedAt === undefined ? '–' : <Time at={change.startedAt} />}
                </td>
                <td className="tabular" data-k="Failed after">
                  {updateDuration(change, entry) ?? '–'}
                </td>
                <td className="mono" data-k="Error">
                  {change.error === undefined ? '–' : <LongText text={change.error} />}
                </td>
              </tr>
            ))}
          </TimesTogether>
        </tbody>
      </table>
      {attempts.length > shown.length && (
        <div className={shared.foot}>
          <Button variant="ghost" size="sm" onClick={() => setWhole(true)}>
            Show {counted(attempts.length - shown.length, 'earlier attempt')}
          </Button>
        </div>
      )}
    </>
  )
}
