import { useQueries } from '@tanstack/react-query'
import { ExternalLink } from 'lucide-react'
import { type FormEvent, useId, useState } from 'react'
import { actionQuery } from '../../../api/queries.ts'
import { usePageSearch } from '../../../lib/app/search.ts'
import { Section } from '../../../ui/app/Section.tsx'
import { Button } from '../../../ui/Button.tsx'
import { Checkbox } from '../../../ui/Checkbox.tsx'
import { FieldError } from '../../../ui/Field.tsx'
import { PROXY_LINK_HOURS } from '../shared/proxy-link-hours.ts'
import { useProxyLink } from '../shared/use-proxy-link.ts'
import { deviceSearch, WEB_PROTOCOLS } from './device-search.ts'
import styles from './ProxySection.module.css'
import { SYSTEM_INFO_NAMES } from './property-names.ts'
import { type Export, foundProperties, readSystemInfo } from './well-known.ts'

/** Number of declared services that are shown. A device may declare any number of them. */
const MAX_SHOWN = 20

/** Links to the web pages that a device declares in its system info, and a field for another port. */
export function ProxySection({ deviceId }: { deviceId: string }) {
  return (
    <Section id="web" title="HTTP Proxy" padded={false}>
      <Exports deviceId={deviceId} />
      <AnotherPort deviceId={deviceId} />
    </Section>
  )
}

function Exports({ deviceId }: { deviceId: string }) {
  const answers = useQueries({
    queries: SYSTEM_INFO_NAMES.map(name => actionQuery('devices_GetProperty', { deviceId, name })),
  })
  // There is no retry button here, because the section System Info runs the same queries and has one.
  if (answers.some(({ data, isError }) => isError && !data))
    return <p className="inset muted">Could not load the declared services.</p>
  const info = readSystemInfo(foundProperties(answers.flatMap(({ data }) => data ?? [])))
  if (!info || info === 'unreadable' || info.exports.length === 0) return null
  return (
    <>
      <ul className={styles.services}>
        {info.exports.slice(0, MAX_SHOWN).map((declared, index) => (
          // A device may declare the same service twice, so no field is a key.
          // biome-ignore lint/suspicious/noArrayIndexKey: the state of a row is a request in flight
          <ExportRow key={index} deviceId={deviceId} declared={declared} />
        ))}
      </ul>
      {info.exports.length > MAX_SHOWN && (
        <p className="inset muted">{info.exports.length - MAX_SHOWN} more are in the property.</p>
      )}
    </>
  )
}

function ExportRow({
  deviceId,
  declared: { name, protocol, port, path },
}: {
  deviceId: string
  declared: Export
}) {
  const { open, isPending } = useProxyLink(deviceId)
  const web = WEB_PROTOCOLS.find(known => known === protocol)
  const where = `${protocol} · ${port}${path === '/' ? '' : path}`
  return (
    <li className="row break-anywhere">
      {web ? (
        <button type="button" aria-disabled={isPending} onClick={() => open(port, path, web)}>
          {name}
          <ExternalLink className="icon small-icon" aria-hidden />
          <span className="visually-hidden"> (opens in a new window)</span>
        </button>
      ) : (
        <span>{name}</span>
      )}
      <span className="mono muted">{where}</span>
    </li>
  )
}

function AnotherPort({ deviceId }: { deviceId: string }) {
  const id = useId()
  const [offered] = usePageSearch(deviceSearch)
  const [text, setText] = useState(offered.port ?? '80')
  const [isHttps, setHttps] = useState(offered.protocol === 'https')
  const [isRefused, setRefused] = useState(false)
  const { open, isPending } = useProxyLink(deviceId)
  const port = /^\d{1,5}$/.test(text.trim()) ? Number(text) : 0
  const isPort = port >= 1 && port <= 65_535
  const isWrong = isRefused && !isPort
  // The path belongs to the offered port.
  const path = text === offered.port && offered.path?.startsWith('/') ? offered.path : '/'

  function submit(event: FormEvent) {
    event.preventDefault()
    setRefused(!isPort)
    if (isPort && !isPending) open(port, path, isHttps ? 'https' : 'http')
  }

  return (
    <form className={`inset ${styles.port}`} onSubmit={submit}>
      {offered.port !== undefined && (
        <p>
          The page that you came from needs this port and protocol of the device. Open it if you expected
          that.
        </p>
      )}
      <label className="label" htmlFor={id}>
        Another port <small>(required)</small>
      </label>
      <div className="row">
        <input
          id={id}
          className="input tabular"
          inputMode="numeric"
          autoComplete="off"
          value={text}
          aria-describedby={`${id}-help`}
          aria-required
          aria-invalid={isWrong || undefined}
          onChange={event => setText(event.target.value)}
        />
        <Button type="submit" icon={ExternalLink} disabled={isWrong} busy={isPending} busyLabel="Opening…">
          Open
        </Button>
      </div>
      <FieldError id={id} error={isWrong ? 'A port is a number from 1 to 65535.' : undefined} />
      {path !== '/' && <p className="break-anywhere mono muted">{path}</p>}
      <Checkbox label="This port speaks HTTPS" checked={isHttps} onChange={setHttps} />
      <p className="help" id={`${id}-help`}>
        Each link is valid for {PROXY_LINK_HOURS} hours and opens in a new window. The certificate of the
        device is not verified with HTTPS.
      </p>
    </form>
  )
}
