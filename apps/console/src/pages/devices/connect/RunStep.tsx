import { agentArguments, offersInstall } from '@muster/actions/client'
import { type ReactNode, useState } from 'react'
import { useDeviceUrl, usePublicUrl } from '../../../api/config.ts'
import { Code } from '../../../ui/Code.tsx'
import { TextField } from '../../../ui/TextField.tsx'
import { InstallCommand } from '../shared/InstallCommand.tsx'
import type { Kind } from './kinds.ts'
import styles from './RunStep.module.css'
import { Step } from './Step.tsx'

const TITLES: Record<Kind, string> = {
  here: 'Run this here',
  linux: 'Run this on the device',
  public: "Name this hub in the agent's file",
  simulated: 'Start simulated devices',
}
const MAX_SIMULATED = 10_000

/** The step with the commands of one kind of device. No command contains the token: each program asks for it. */
export function RunStep({ kind, hasToken }: { kind: Kind; hasToken: boolean }) {
  return (
    <Step number={2} state={hasToken ? 'now' : 'later'} title={TITLES[kind]}>
      {kind === 'here' && <Here />}
      {kind === 'linux' && <Linux />}
      {kind === 'public' && <PublicAgent />}
      {kind === 'simulated' && <Simulated />}
    </Step>
  )
}

function Here() {
  const deviceUrl = useDeviceUrl()
  return (
    <>
      <AgentCommand options={agentArguments(deviceUrl, 'run')} />
      <Asks>The agent asks for the token. Paste it there. It runs until you press Ctrl+C.</Asks>
      <ul className={styles.notes}>
        <li>
          Needs Node 24. Nothing is installed; the key and the certificate are in{' '}
          <span className="mono">~/.local/state/muster-agent</span>.
        </li>
      </ul>
    </>
  )
}

function Linux() {
  const hubUrl = usePublicUrl()
  return (
    <InstallCommand>
      <Asks>
        The script asks for the token. Paste it there: it is not shown and does not enter the shell's history.
      </Asks>
      <details className={styles.more}>
        <summary>Without a prompt</summary>
        <p className="help">
          As root, put the token into a file that only root can read, end it with Ctrl+D, and name the file.
          The script refuses any other mode.
        </p>
        <Code
          label="Copy command for the file"
          text="install -m 600 /dev/null /root/muster-token && cat > /root/muster-token"
        />
        <Code
          label="Copy command with the file"
          text="sh install-muster.sh --token-file /root/muster-token"
        />
      </details>
      <ul className={styles.notes}>
        <li>
          Needs systemd, and Node 24 unless the device has the architecture of the hub. Otherwise it stops
          before it changes anything, and says what to install.
        </li>
        <li>
          Writes <span className="mono">/usr/bin/muster-agent</span>,{' '}
          <span className="mono">/usr/lib/muster-agent</span>, a unit and{' '}
          <span className="mono">/etc/nexigon/agent.toml</span>.{' '}
          <a href={`${hubUrl}/install.sh`} target="_blank" rel="noreferrer">
            Read the script
          </a>
        </li>
        <li>
          To remove it, run <span className="mono">sudo sh /usr/lib/muster-agent/install.sh --uninstall</span>
          .
        </li>
      </ul>
    </InstallCommand>
  )
}

function PublicAgent() {
  const deviceUrl = useDeviceUrl()
  const lines = [`hub-url = "${deviceUrl}"`, 'token = "paste the token here"']
  if (deviceUrl.startsWith('http:')) lines.push('dangerous-allow-plaintext = true')
  return (
    <>
      <p className="secondary">Let only root read the file of the agent, because it holds the token:</p>
      <Code prompt label="Copy command" text="sudo chmod 600 /etc/nexigon/agent.toml" />
      <p className="secondary">Then set these lines in it:</p>
      <Code label="Copy lines" text={lines.join('\n')} />
      <p className="secondary">And restart the agent:</p>
      <Code prompt label="Copy command for the restart" text="sudo systemctl restart nexigon-agent" />
      <ul className={styles.notes}>
        <li>
          Agents since December 2025 work as they are. A device that belonged to another hub keeps its
          certificate and joins as a new device.
        </li>
      </ul>
    </>
  )
}

function Simulated() {
  const deviceUrl = useDeviceUrl()
  const [text, setText] = useState('20')
  const isCount = /^\s*[1-9]\d*\s*$/.test(text) && Number(text) <= MAX_SIMULATED
  return (
    <>
      <div className={styles.count}>
        <TextField
          label="Number of devices"
          inputMode="numeric"
          required
          value={text}
          onChange={setText}
          error={isCount ? undefined : 'Enter a whole number from 1 to 10,000.'}
        />
      </div>
      {isCount && (
        <AgentCommand options={`${agentArguments(deviceUrl, 'simulate')} --count ${Number(text)}`} />
      )}
      <Asks>
        The agent asks for the token. The devices report, update and disconnect like real ones until you press
        Ctrl+C.
      </Asks>
      <ul className={styles.notes}>
        <li>
          Their host names begin with <span className="mono">sim-</span>: filter by it to delete them all
          later.
        </li>
      </ul>
    </>
  )
}

/** Commands that run the agent: as one file that the hub serves, unless `offersInstall` is false, and in a checkout of Muster. */
function AgentCommand({ options }: { options: string }) {
  const hubUrl = usePublicUrl()
  const inCheckout = `npm run agent -- ${options}`
  if (!offersInstall(hubUrl)) {
    return (
      <>
        <p className="secondary">In a checkout of Muster:</p>
        <Code prompt label="Copy command" text={inCheckout} />
      </>
    )
  }
  return (
    <>
      <Code
        prompt
        label="Copy command"
        text={`curl -fsS ${hubUrl}/muster-agent -o muster-agent && node muster-agent ${options}`}
      />
      <details className={styles.more}>
        <summary>In a checkout of Muster</summary>
        <Code prompt label="Copy command for a checkout" text={inCheckout} />
      </details>
    </>
  )
}

/** Picture of the terminal in which the program asks its questions, with an explanation. */
function Asks({ children }: { children: ReactNode }) {
  return (
    <div className={styles.question}>
      <p>{children}</p>
      <div className={`code ${styles.terminal}`} aria-hidden="true">
        Deployment token: <span />
      </div>
    </div>
  )
}
