import { useState } from 'react'
import { SearchBox } from '../../ui/app/SearchBox.tsx'
import { Segments } from '../../ui/app/Segments.tsx'
import { Switch } from '../../ui/app/Switch.tsx'
import { Checkbox } from '../../ui/Checkbox.tsx'
import { ComboField } from '../../ui/lazy/ComboField.tsx'
import { SelectField } from '../../ui/lazy/SelectField.tsx'
import { PasswordField } from '../../ui/PasswordField.tsx'
import { TextField } from '../../ui/TextField.tsx'
import styles from './DesignSystemPage.module.css'

const SEVERITIES = [
  { value: 'info', label: 'Info' },
  { value: 'warning', label: 'Warning' },
] as const

const REPOSITORIES = [
  { value: 'repo_1', label: 'agent', detail: 'repo_1' },
  { value: 'repo_2', label: 'os-image', detail: 'repo_2', reason: 'already linked' },
]

/** Inputs: empty, filled, invalid, disabled. */
export function InputSamples() {
  const [name, setName] = useState('Harbor crane gateways')
  const [prefix, setPrefix] = useState('')
  const [email, setEmail] = useState('mira@')
  const [password, setPassword] = useState('correct horse')
  const [severity, setSeverity] = useState<(typeof SEVERITIES)[number]['value']>('warning')
  const [repository, setRepository] = useState('')
  const [query, setQuery] = useState('')
  const [isAccepting, setAccepting] = useState(true)
  const [isRemembered, setRemembered] = useState(false)
  const [hasAgreed, setAgreed] = useState(false)
  const [status, setStatus] = useState<'all' | 'connected' | 'disconnected' | 'pending'>('all')
  return (
    <div className="stack">
      <div className={styles.pair}>
        <TextField label="Name" required value={name} onChange={setName} />
        <TextField
          label="Prefix"
          placeholder="artifacts/"
          help="Put before every file name."
          value={prefix}
          onChange={setPrefix}
        />
        <TextField
          label="Email"
          required
          value={email}
          onChange={setEmail}
          error="Please enter a valid email address."
        />
        <PasswordField
          label="Password"
          name="password"
          required
          autoComplete="current-password"
          value={password}
          onChange={setPassword}
        />
        <TextField label="Disabled" disabled value="Not now" onChange={() => {}} />
        <SelectField
          label="Severity"
          name="severity"
          required
          value={severity}
          options={SEVERITIES}
          onChange={setSeverity}
          onBlur={() => {}}
        />
        <ComboField
          label="Repository"
          required
          placeholder="Choose or type to find one"
          text={repository}
          onType={setRepository}
          options={REPOSITORIES.filter(({ label }) => label.includes(repository))}
          onChoose={({ label }) => setRepository(label)}
        />
        <SearchBox
          value={query}
          onChange={setQuery}
          label="Filter samples"
          placeholder="Filter by name or id"
        />
        <Checkbox label="Remember me" checked={isRemembered} onChange={setRemembered} />
        <Checkbox
          label="I agree"
          required
          checked={hasAgreed}
          onChange={setAgreed}
          error="Please agree to the Terms of Service and Privacy Policy."
        />
      </div>
      <div className="wrap">
        <Switch label="Auto-accept" checked={isAccepting} onChange={setAccepting} />
        <Switch label="Auto-accept, saving" checked busy onChange={() => {}} />
        <Switch label="Auto-accept, off" checked={false} onChange={() => {}} />
      </div>
      <Segments
        label="Status"
        value={status}
        onChange={setStatus}
        options={[
          { value: 'all', label: 'All', count: 42 },
          { value: 'connected', label: 'Connected', count: 38, mark: 'on' },
          { value: 'disconnected', label: 'Disconnected', count: 4, mark: 'off' },
          { value: 'pending', label: 'Pending', count: 2, mark: 'pending' },
        ]}
      />
    </div>
  )
}
