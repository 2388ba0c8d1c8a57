declare const styles: {
  readonly divider: string
  readonly organization: string
  readonly pages: string
  readonly switcher: string
}
export default styles
