import { useConfig } from '../../api/config.ts'

/** Terms and privacy policy of the instance: links where the operator gave addresses, plain words elsewhere. */
export function LegalLinks() {
  const { termsUrl, privacyUrl } = useConfig()
  return (
    <>
      {termsUrl ? <a href={termsUrl}>Terms of Service</a> : <span>Terms of Service</span>}
      {privacyUrl ? <a href={privacyUrl}>Privacy Policy</a> : <span>Privacy Policy</span>}
    </>
  )
}
