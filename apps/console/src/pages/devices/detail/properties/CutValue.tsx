import { useState } from 'react'
import { useActionState } from '../../../../api/queries.ts'
import { formatBytes } from '../../../../lib/app/format.ts'
import { ErrorAlert } from '../../../../ui/Alert.tsx'
import { Button } from '../../../../ui/Button.tsx'
import { CopyButton } from '../../../../ui/CopyButton.tsx'
import json from '../../../../ui/lazy/JsonValue.module.css'
import { copyTextOf, JsonValue } from '../../../../ui/lazy/JsonValue.tsx'

type CutValueProps = { deviceId: string; name: string; start: string; sizeBytes: number }

const START_CHARS = 300

/** A value that the hub has truncated. A click loads the whole value, which is then kept up to date. */
export function CutValue({ deviceId, name, start, sizeBytes }: CutValueProps) {
  const [isWanted, setWanted] = useState(false)
  const { data, error, isFetching, refetch } = useActionState(
    'devices_GetProperty',
    { deviceId, name },
    { enabled: isWanted },
  )
  if (data?.result === 'Found') {
    return (
      <>
        <JsonValue value={data.value} open />
        <CopyButton text={copyTextOf(data.value)} label={`Copy value of ${name}`} />
      </>
    )
  }
  return (
    <>
      <pre className={`mono ${json.json}`}>
        <bdi>{start.slice(0, START_CHARS)}…</bdi>{' '}
        <Button
          variant="ghost"
          size="sm"
          busy={isFetching}
          busyLabel="Loading…"
          onClick={() => (isWanted ? void refetch() : setWanted(true))}
        >
          Show all {formatBytes(sizeBytes)}
        </Button>
      </pre>
      <ErrorAlert title={`Could not load ${name}.`} error={error} />
    </>
  )
}
