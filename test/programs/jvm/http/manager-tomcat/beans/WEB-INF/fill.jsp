<%@ page session="false" trimDirectiveWhitespaces="true" import="java.util.ArrayList, java.util.List" %><%--
  Takes all memory and keeps it, so that this call and later ones end with an OutOfMemoryError.
--%><%!
  private static final List<byte[]> KEPT = new ArrayList<>();
%><%
  while (true) KEPT.add(new byte[1 << 24]);
%>
