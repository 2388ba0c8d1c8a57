declare const styles: {
  readonly changes: string
}
export default styles
