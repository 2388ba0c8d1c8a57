declare const styles: {
  readonly problems: string
}
export default styles
