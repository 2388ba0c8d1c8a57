import { offersInstall } from '@muster/actions/client'
import type { ReactNode } from 'react'
import { usePublicUrl } from '../../../api/config.ts'
import { Alert } from '../../../ui/Alert.tsx'
import { Code } from '../../../ui/Code.tsx'

/**
 * The command that installs the agent on a Linux device, with explanations below it. It does not contain the token. A hub that does not
 * offer the script shows the reason instead of both.
 */
export function InstallCommand({ children }: { children: ReactNode }) {
  const hubUrl = usePublicUrl()
  if (!offersInstall(hubUrl))
    return <Alert tone="warn">The script is offered over HTTPS only. Set MUSTER_PUBLIC_URL.</Alert>
  return (
    <>
      <Code
        prompt
        label="Copy command"
        text={`curl -fsS ${hubUrl}/install.sh -o install-muster.sh && sudo sh install-muster.sh`}
      />
      {children}
    </>
  )
}
