declare const styles: {
  readonly size: string
}
export default styles
