declare const styles: {
  readonly organization: string
  readonly pages: string
  readonly switcher: string
}
export default styles
